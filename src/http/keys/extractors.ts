import { HeadgateError, shown } from '../../errors.ts'
import { isPromise, type MaybePromise } from '../../maybe-promise.ts'
import { flag, knownOptions } from '../../options.ts'
import { warnOnce } from '../../warn.ts'
import type { Framework } from '../framework.ts'
import { AddressKeys } from './address.ts'
import { behind, type TrustedProxies } from './proxies.ts'

/** What an extractor may return; nothing, or an empty text, means that the request has no such key. */
export type Extracted = string | number | bigint | undefined | null

/** The part of a framework that tells about a request. */
export type View<Request> = Pick<
  Framework<Request, never>,
  'address' | 'peer' | 'trustsProxy' | 'header' | 'param' | 'route'
>

/**
 * Says who a request is limited as. It gets the framework's own request (of Koa the context) and, for extractors that
 * should work on every framework, a view of it. May be async. A request without a key is limited by its address.
 */
export type KeyExtractor<Request = unknown> = (request: Request, view: View<Request>) => MaybePromise<Extracted>

export interface ByIpOptions {
  /** How many leading bits of an IPv6 address name one client: 1 to 128. Default 56. */
  ipv6Prefix?: number
  /**
   * How many proxies are in front, or their addresses and ranges, for frameworks without a proxy setting of their own. Then
   * X-Forwarded-For is read here and the framework's setting, if it has one, is not asked.
   */
  trustedProxies?: TrustedProxies
  /** false: no warning where a request comes with X-Forwarded-For and no proxy is trusted. Default true. */
  warn?: boolean
}

/**
 * By client address: IPv6 by its /56, IPv4 mapped into IPv6 as IPv4. Behind a proxy the framework's own setting decides
 * which address that is; the leftmost of X-Forwarded-For, which a client can forge, is never believed, not even where
 * the framework is set to trust everybody: then it is the address that the nearest proxy saw.
 */
export function byIp(options: ByIpOptions = {}): KeyExtractor {
  knownOptions('byIp', options, ['ipv6Prefix', 'trustedProxies', 'warn'])
  const prefix = options.ipv6Prefix ?? 56
  if (!Number.isInteger(prefix) || prefix < 1 || prefix > 128) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `byIp: ipv6Prefix must be a whole number of bits from 1 to 128, got ${shown(prefix)}. Leave it out for 56.`,
    )
  }
  const keys = new AddressKeys(prefix)
  const { trustedProxies } = options
  const client = trustedProxies === undefined ? undefined : behind(trustedProxies)
  const warns = client === undefined && flag(options.warn ?? true, 'byIp: warn')
  return (request, view) => {
    const address = client === undefined ? view.address(request) : client(request, view)
    if (warns && watching) warnForwarded(request, view)
    return address === undefined ? undefined : keys.of(address)
  }
}

/** Until it has been said once. */
let watching = true

/** X-Forwarded-For where no proxy is trusted: either all clients share the proxy's quota, or somebody tries to forge. */
function warnForwarded<Request>(request: Request, view: View<Request>): void {
  if (view.header(request, 'x-forwarded-for') === undefined || view.trustsProxy(request)) return
  watching = false
  warnOnce(
    'HEADGATE_FORWARDED',
    'A request came with X-Forwarded-For, but no proxy is trusted: if there is one, all its clients are limited as one. ' +
      "Tell the framework of it (Express: app.set('trust proxy', 1), Koa: new Koa({ proxy: true, maxIpsCount: 1 }), " +
      "Fastify: fastify({ trustProxy: '10.0.0.0/8' })), or give byIp({ trustedProxies: 1 }). If there is none, say " +
      'keys: byIp({ warn: false }).',
  )
}

/** For tests, which are many processes in one. */
export function watchForwarded(): void {
  watching = true
}

/** By a cookie of the request, as it was sent. A request without it is limited by its address. */
export function byCookie(name: string): KeyExtractor {
  if (typeof name !== 'string' || !token.test(name)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `byCookie takes a cookie's name, got ${shown(name)}. Write byCookie('session').`,
    )
  }
  return (request, view) => cookie(view.header(request, 'cookie'), name)
}

/** The first cookie of that name (RFC 6265, 5.4), without the quotes that may be around it. */
function cookie(header: string | undefined, name: string): string | undefined {
  if (header === undefined) return undefined
  const pair = header.split(';').find((each) => each.slice(0, each.indexOf('=')).trim() === name)
  return pair
    ?.slice(pair.indexOf('=') + 1)
    .trim()
    .replace(/^"(.*)"$/, '$1')
}

/** By a parameter of the route (`id` of `/users/:id`), where one has matched already; else by address. */
export function byParam(name: string): KeyExtractor {
  if (typeof name !== 'string' || name === '') {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `byParam takes a parameter's name, got ${shown(name)}. Write byParam('id') for the route /users/:id.`,
    )
  }
  return (request, view) => view.param(request, name)
}

const token = /^[\w!#$%&'*+.^`|~-]+$/

/** By a request header, such as an API key. A request without it is limited by its address. */
export function byHeader(name: string): KeyExtractor {
  if (typeof name !== 'string' || !token.test(name)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `byHeader takes a header name, got ${shown(name)}. Write byHeader('x-api-key').`,
    )
  }
  const lower = name.toLowerCase()
  return (request, view) => view.header(request, lower)
}

/**
 * By method and route pattern (`GET /users/:id`), so that each route has a quota of its own; HEAD counts as GET. Where no
 * route has matched yet, and for the path that a router is mounted on, it is `*`: never text of the client's choosing.
 */
export function byRoute(): KeyExtractor {
  return (request, view) => view.route(request)
}

/**
 * By several extractors together: no two different inputs give one key. A part that is missing is the address instead.
 */
export function combine<Request = unknown>(...extractors: KeyExtractor<Request>[]): KeyExtractor<Request> {
  if (extractors.length === 0 || extractors.some((extractor) => typeof extractor !== 'function')) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'combine takes key extractors. Write combine(byHeader("x-api-key"), byRoute()).',
    )
  }
  return (request, view) => {
    const parts = extractors.map((extractor) => extractKey(extractor, request, view))
    return parts.some(isPromise) ? Promise.all(parts).then(joined) : joined(parts as string[])
  }
}

function joined(parts: readonly string[]): string {
  return parts.map((part) => part.replaceAll('\\', '\\\\').replaceAll('|', '\\|')).join('|')
}

/** The key of a request: what the extractor says, else the address. */
export function extractKey<Request>(
  extractor: KeyExtractor<Request>,
  request: Request,
  view: View<Request>,
): MaybePromise<string> {
  const extracted = extractor(request, view)
  return isPromise(extracted) ? keyOfLater(extracted, request, view) : keyOf(extracted, request, view)
}

async function keyOfLater<Request>(
  extracted: Promise<Extracted>,
  request: Request,
  view: View<Request>,
): Promise<string> {
  return keyOf(await extracted, request, view)
}

const byAddress = byIp()

/** `~` marks an address that stands in for a missing key, so that nobody can claim it by sending that text. */
function keyOf<Request>(extracted: Extracted, request: Request, view: View<Request>): string {
  const key = typeof extracted === 'string' ? extracted : keyText(extracted)
  if (key === '') return `~${(byAddress as KeyExtractor<Request>)(request, view) ?? ''}`
  return key.charCodeAt(0) === 126 ? `~${key}` : key
}

function keyText(extracted: Exclude<Extracted, string>): string {
  if (extracted === undefined || extracted === null) return ''
  if (typeof extracted === 'bigint' || Number.isFinite(extracted)) return String(extracted)
  throw new HeadgateError(
    'HEADGATE_KEY',
    `A key extractor must return a text or a number, or undefined for none, got ${shown(extracted)}. Return the id itself.`,
  )
}
