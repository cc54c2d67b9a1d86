import { cloudflareRanges, googleRanges, privateRanges } from './proxy-ranges.ts'

/** A platform whose proxies tell the client's address. docs/addresses.md says what each one needs. */
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
   * The place of the address in a list that the platform appends to: 1 is the last entry. What stands before it is the
   * client's text. Undefined for a field that the platform overwrites: it has one address, or is not believed.
   */
  readonly fromEnd?: number
  /** From where the platform's proxies connect. */
  readonly proxies: readonly string[]
  /** True if the framework knows the address from the platform where the runtime shows no peer: it is read before the fields. */
  readonly given?: true
}

/** X-Forwarded-For of a proxy that appends the address of its client. */
const appended = { names: ['x-forwarded-for'], fromEnd: 1, proxies: privateRanges } as const

export const platformFields: Readonly<Record<AddressPlatform, PlatformField>> = {
  // https://developers.cloudflare.com/fundamentals/reference/http-headers/#cf-connecting-ip
  cloudflare: { names: ['cf-connecting-ip'], proxies: cloudflareRanges },
  // https://vercel.com/docs/headers/request-headers: X-Forwarded-For may be another proxy's, these two are Vercel's.
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
