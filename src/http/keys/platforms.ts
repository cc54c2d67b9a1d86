/*
 * The platforms whose proxies report the client's address, and the ranges from which these proxies connect. The option `proxies`
 * of `byIp` replaces the ranges, for example if a platform changes its ranges.
 */

/** A platform whose proxies report the client's address in a field. docs/addresses.md has the requirements of each platform. */
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

/** The field in which a platform reports the client's address. */
export interface PlatformField {
  /** The names of the fields with the address. If a request has several of these fields, the first in this list is read. */
  readonly names: readonly [string, ...string[]]
  /**
   * The position of the address in the field's list, to which the platform appends; 1 is the last entry. A client may have written
   * the entries before that position. Undefined if the platform replaces the field, which must then contain one address.
   */
  readonly fromEnd?: number
  /** The ranges of the platform's proxies. */
  readonly proxies: readonly string[]
  /**
   * True if the platform's runtime, which does not show the other end of the socket, may report the client's address itself. The
   * fields are read only if the runtime reports no address.
   */
  readonly given?: true
}

/**
 * Private and local addresses: loopback, RFC 1918, link-local, the shared range of RFC 6598, which Railway's proxies use, and the
 * same kinds of IPv6 addresses. A peer with such an address is inside the application's network.
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

/** The ranges that Cloudflare publishes at https://www.cloudflare.com/ips/, as of 2023-09-28. The ranges change every few years. */
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
 * Google's front ends (https://cloud.google.com/load-balancing/docs/firewall-rules), and private addresses for regional load
 * balancers, whose proxies are in a subnet of the application's network.
 */
const googleRanges: readonly string[] = [
  '35.191.0.0/16',
  '130.211.0.0/22',
  '2600:2d00:1:1::/64',
  '2600:2d00:1:b029::/64',
  ...privateRanges,
]

/** X-Forwarded-For from a proxy that appends the address of its client. */
const appended = { names: ['x-forwarded-for'], fromEnd: 1, proxies: privateRanges } as const

export const platformFields: Readonly<Record<AddressPlatform, PlatformField>> = {
  // Cloudflare sets this field: https://developers.cloudflare.com/fundamentals/reference/http-headers/#cf-connecting-ip
  cloudflare: { names: ['cf-connecting-ip'], proxies: cloudflareRanges },
  // Vercel sets these two fields. Another proxy may write X-Forwarded-For: https://vercel.com/docs/headers/request-headers
  vercel: { names: ['x-vercel-forwarded-for', 'x-real-ip'], proxies: privateRanges },
  // Fly.io sets this field: https://fly.io/docs/networking/request-headers/#fly-client-ip
  fly: { names: ['fly-client-ip'], proxies: privateRanges },
  // Render's front end is Cloudflare, which replaces this field. Cloudflare and Render's own proxies append to
  // X-Forwarded-For, so the first entry of X-Forwarded-For may be a client's text. Example:
  // https://github.com/arcjet/arcjet-js/issues/5411
  render: { names: ['cf-connecting-ip'], proxies: privateRanges },
  // Railway sets this field: https://docs.railway.com/reference/public-networking#technical-specifications
  railway: { names: ['x-real-ip'], proxies: privateRanges },
  // Netlify sets this field to the address of `context.ip`: https://docs.netlify.com/build/functions/api/
  netlify: { names: ['x-nf-client-connection-ip'], proxies: privateRanges },
  // The adapter for AWS Lambda gives the address that AWS reports as `requestContext.http.sourceIp`:
  // https://docs.aws.amazon.com/lambda/latest/dg/urls-invocation.html
  'aws-lambda': { ...appended, given: true },
  // The load balancer appends the client's address, if its mode is `append`:
  // https://docs.aws.amazon.com/elasticloadbalancing/latest/application/x-forwarded-headers.html
  'aws-alb': appended,
  // The last entry is the load balancer's address, and the entry before is the client's address:
  // https://cloud.google.com/load-balancing/docs/https#x-forwarded-for_header
  gcp: { names: ['x-forwarded-for'], fromEnd: 2, proxies: googleRanges },
  // App Service and Application Gateway append `address:port`. X-Azure-ClientIP is not safe: Front Door may copy it from the
  // client's field (https://learn.microsoft.com/azure/frontdoor/front-door-http-headers-protocol), and a client that reaches the
  // application without Front Door can write all X-Azure fields.
  azure: appended,
  // nginx needs the line `proxy_set_header X-Real-IP $remote_addr;` (https://nginx.org/en/docs/http/ngx_http_proxy_module.html).
  nginx: { names: ['x-real-ip'], proxies: privateRanges },
}
