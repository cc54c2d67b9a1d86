/*
 * The platforms whose proxies report the client's address, and the ranges from which these proxies connect. The option
 * `proxies` of `byIp` replaces the ranges: when a platform changes them, or for a network of your own.
 */

/** A platform whose proxies report the client's address. docs/addresses.md says what each platform needs. */
export type AddressPlatform =
  | 'cloudflare'
  | 'vercel'
  | 'fly'
  | 'render'
  | 'railway'
  | 'netlify'
  | 'aws-lambda'
  | 'aws-alb'
  | 'gcp'
  | 'azure'
  | 'nginx'

/** Where a platform writes the client's address. */
export interface PlatformField {
  /** The fields with that address. The first one that a request has is read. */
  readonly names: readonly [string, ...string[]]
  /**
   * The place of the address in a list that the platform appends to: 1 is the last entry. Entries before that place may
   * be written by the client. Undefined for a field that the platform overwrites: such a field has one address, or is
   * not believed.
   */
  readonly fromEnd?: number
  /** From where the platform's proxies connect. */
  readonly proxies: readonly string[]
  /** True if a runtime that shows no peer gets the address from the platform. That address precedes the fields. */
  readonly given?: true
}

/**
 * Private and local addresses: loopback, RFC 1918, link-local, the shared space of RFC 6598 (Railway's proxies have
 * such addresses), and IPv6 alike. A peer with such an address is inside the application's network.
 */
const privateRanges: readonly string[] = [
  '127.0.0.0/8',
  '10.0.0.0/8',
  '172.16.0.0/12',
  '192.168.0.0/16',
  '169.254.0.0/16',
  '100.64.0.0/10',
  '::1/128',
  'fc00::/7',
  'fe80::/10',
]

/** What Cloudflare publishes at https://www.cloudflare.com/ips/, as of 2023-09-28. The list changes every few years. */
const cloudflareRanges: readonly string[] = [
  '173.245.48.0/20',
  '103.21.244.0/22',
  '103.22.200.0/22',
  '103.31.4.0/22',
  '141.101.64.0/18',
  '108.162.192.0/18',
  '190.93.240.0/20',
  '188.114.96.0/20',
  '197.234.240.0/22',
  '198.41.128.0/17',
  '162.158.0.0/15',
  '104.16.0.0/13',
  '104.24.0.0/14',
  '172.64.0.0/13',
  '131.0.72.0/22',
  '2400:cb00::/32',
  '2606:4700::/32',
  '2803:f800::/32',
  '2405:b500::/32',
  '2405:8100::/32',
  '2a06:98c0::/29',
  '2c0f:f248::/32',
]

/**
 * Google's front ends (https://cloud.google.com/load-balancing/docs/firewall-rules), and the private addresses of regional
 * load balancers, which are proxies in a subnet of the application's own network.
 */
const googleRanges: readonly string[] = [
  '35.191.0.0/16',
  '130.211.0.0/22',
  '2600:2d00:1:1::/64',
  '2600:2d00:1:b029::/64',
  ...privateRanges,
]

/** X-Forwarded-For of a proxy that appends the address of its client. */
const appended = { names: ['x-forwarded-for'], fromEnd: 1, proxies: privateRanges } as const

export const platformFields: Readonly<Record<AddressPlatform, PlatformField>> = {
  // https://developers.cloudflare.com/fundamentals/reference/http-headers/#cf-connecting-ip
  cloudflare: { names: ['cf-connecting-ip'], proxies: cloudflareRanges },
  // https://vercel.com/docs/headers/request-headers: X-Forwarded-For may be another proxy's; Vercel sets these two.
  vercel: { names: ['x-vercel-forwarded-for', 'x-real-ip'], proxies: privateRanges },
  // https://fly.io/docs/networking/request-headers/#fly-client-ip
  fly: { names: ['fly-client-ip'], proxies: privateRanges },
  // Render's edge is Cloudflare, which overwrites this field. To X-Forwarded-For it appends, and its own proxies append
  // after it, so the first entry may be the client's text: https://github.com/arcjet/arcjet-js/issues/5411 shows one.
  render: { names: ['cf-connecting-ip'], proxies: privateRanges },
  // https://docs.railway.com/reference/public-networking#technical-specifications
  railway: { names: ['x-real-ip'], proxies: privateRanges },
  // https://docs.netlify.com/build/functions/api/: the address of `context.ip`, as a field.
  netlify: { names: ['x-nf-client-connection-ip'], proxies: privateRanges },
  // https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html: `requestContext.http.sourceIp`
  'aws-lambda': { ...appended, given: true },
  // https://docs.aws.amazon.com/elasticloadbalancing/latest/application/x-forwarded-headers.html, in the mode `append`
  'aws-alb': appended,
  // https://cloud.google.com/load-balancing/docs/https#x-forwarded-for_header: the client, then the load balancer
  gcp: { names: ['x-forwarded-for'], fromEnd: 2, proxies: googleRanges },
  // App Service and Application Gateway append `address:port`. X-Azure-ClientIP is no safe choice: Front Door may take it
  // from the client's text (https://learn.microsoft.com/azure/frontdoor/front-door-http-headers-protocol), and an
  // application that is reached past Front Door gets all X-Azure fields from the client.
  azure: appended,
  // proxy_set_header X-Real-IP $remote_addr; https://nginx.org/en/docs/http/ngx_http_proxy_module.html
  nginx: { names: ['x-real-ip'], proxies: privateRanges },
}
