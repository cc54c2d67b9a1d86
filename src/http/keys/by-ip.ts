import { anything, flag, HeadgateError, readOptions, warnOnce, whole } from '../../common/index.ts'
import { AddressKeys, addressKey } from './address-key.ts'
import { readsAddress } from './address-source.ts'
import type { KeyExtractor, RequestView } from './key-extractor.ts'
import { clientOn, type FindClient } from './platform-address.ts'
import { type AddressPlatform, platformFields } from './platforms.ts'
import { clientBehind, type TrustedProxies } from './trusted-proxies.ts'

/** Options of `byIp`. */
export interface ByIpOptions {
  /** How many leading bits of an IPv6 address name one client: 1 to 128. Default 56. Example: `64`. */
  ipv6Prefix?: number
  /**
   * How many proxies are in front, or their addresses and ranges, for frameworks without a proxy setting of their own.
   * X-Forwarded-For is then read here, and the framework's setting is ignored. Default: the framework's setting.
   * Example: `1`, or `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies
  /**
   * The platform in front, whose own field has the client's address. The field is believed only from the platform's proxies:
   * from Cloudflare's and Google's published ranges, from private addresses elsewhere. In a runtime that shows no peer,
   * such as a worker, it is always believed. Default: none, and no field is believed. Example: `'cloudflare'`.
   */
  platform?: AddressPlatform
  /**
   * The ranges from which the proxies of `platform` connect. Default: the built-in ranges of that platform. Example:
   * `['10.0.3.0/24']`.
   */
  proxies?: readonly string[]
  /**
   * Set it to false to get no warning when a request has a field of a proxy and no proxy is trusted, or when the field of
   * `platform` is missing, malformed, or comes from a peer that is none of the platform's proxies. Default true.
   */
  warn?: boolean
}

/** A proxy sends its field with every request, so few requests tell whether there is one. */
const firstRequests = 1000
const forwarded = ['x-forwarded-for']
const platformNames = Object.values(platformFields).flatMap(({ names }) => names)
const proxyFields = [...new Set([...forwarded, ...platformNames, 'forwarded'])]

const readers = {
  ipv6Prefix: whole(56, { most: 128 }),
  ...{ trustedProxies: anything, platform: anything, proxies: anything },
  warn: flag(true),
}

/**
 * By client address: IPv4 as it is, IPv6 by its /56, IPv4 inside IPv6 as IPv4. Behind a proxy, the framework's own
 * setting decides which address that is. The leftmost entry of X-Forwarded-For is never believed, because a client can
 * forge it. If the framework trusts every proxy, the key is the address that the nearest proxy saw.
 *
 *     rateLimit({ limit: 100, window: '15m', keys: byIp({ ipv6Prefix: 64 }) })
 *     rateLimit({ limit: 100, window: '15m', keys: byIp({ platform: 'cloudflare' }) })
 *
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function byIp(options: ByIpOptions = {}): KeyExtractor {
  const { ipv6Prefix, warn: warns } = readOptions('byIp', options, readers)
  const keys = new AddressKeys((address) => addressKey(address, ipv6Prefix))
  const find = findClient(options, warns)
  if (find !== undefined) {
    const extractor: KeyExtractor = (request, view) => keyOf(keys, find(request, view))
    return readsAddress(extractor, options.platform === undefined ? 'framework' : find)
  }
  const extractor: KeyExtractor = (request, view) => {
    if (warns && watching) warnOfForwarded(request, view)
    return keyOf(keys, view.address(request))
  }
  return readsAddress(extractor, 'framework')
}

function keyOf(keys: AddressKeys, address: string | undefined): string | undefined {
  return address === undefined ? undefined : keys.of(address)
}

/** The function that reads the client's address from a field. Undefined if no option names a field to believe. */
function findClient({ platform, proxies, trustedProxies }: ByIpOptions, warns: boolean): FindClient | undefined {
  if (platform !== undefined && trustedProxies !== undefined) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'byIp takes platform or trustedProxies, got both. Leave trustedProxies out: platform reads its own field, and ' +
        'proxies says from which addresses.',
    )
  }
  if (platform !== undefined) return clientOn(platform, proxies, warns)
  if (proxies !== undefined) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      "byIp: proxies belongs to platform. Write byIp({ platform: 'nginx', proxies: ['10.0.0.0/8'] }), or " +
        "byIp({ trustedProxies: ['10.0.0.0/8'] }) to read X-Forwarded-For.",
    )
  }
  return trustedProxies === undefined ? undefined : clientBehind(trustedProxies)
}

/** False once the warning was given: after that, requests are not checked. */
let watching = true
/** How many more requests are searched for every field. After that, only for X-Forwarded-For: this costs each request time. */
let searches = firstRequests

/**
 * Warns of a proxy's field without a trusted proxy: either all clients share the quota of the proxy, or a client forges
 * the field. A field with the address itself gives no warning: then the framework reads the field.
 */
function warnOfForwarded<Request>(request: Request, view: RequestView<Request>): void {
  if (searches > 0 || view.header(request, 'x-forwarded-for') !== undefined) warnOfFields(request, view)
}

function warnOfFields<Request>(request: Request, view: RequestView<Request>): void {
  if (view.trustsProxy(request)) return
  const names = searches > 0 ? proxyFields : forwarded
  searches--
  const found = names.filter((name) => view.header(request, name) !== undefined)
  if (found[0] === undefined) return
  const address = view.address(request)
  if (address !== undefined && found.some((name) => view.header(request, name)?.includes(address))) return
  watching = false
  warnOnce(
    'HEADGATE_FORWARDED',
    `A request has ${found[0]}, but no proxy is trusted. If a proxy is in front, all its clients share one limit. ` +
      `${trustFix(found[0])} If there is no proxy, write keys: byIp({ warn: false }).`,
  )
}

function trustFix(field: string): string {
  const platforms = Object.entries(platformFields).flatMap(([name, { names }]) =>
    names[0] === field ? [`'${name}'`] : [],
  )
  if (field === 'forwarded') {
    return 'This field is not read: let the proxy send X-Forwarded-For, and write byIp({ trustedProxies: 1 }).'
  }
  if (field !== 'x-forwarded-for') return `Write byIp({ platform: ${platforms.join(' or ')} }).`
  return (
    "Set it in the framework (Express: app.set('trust proxy', 1), Koa: new Koa({ proxy: true, maxIpsCount: 1 }), " +
    "Fastify: fastify({ trustProxy: '10.0.0.0/8' })), or write byIp({ trustedProxies: 1 })."
  )
}

/** Allows the warning again. For tests: many tests run in one process. */
export function watchForwarded(): void {
  watching = true
  searches = firstRequests
}
