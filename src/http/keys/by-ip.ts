import { anything, flag, HeadgateError, readOptions, warnOnce, whole } from '../../common/index.ts'
import { AddressKeys, addressKey } from './address-key.ts'
import { readsAddress } from './address-source.ts'
import type { KeyExtractor, RequestView } from './key-extractor.ts'
import { clientOn, type FindClient } from './platform-address.ts'
import { type AddressPlatform, platformFields } from './platforms.ts'
import { clientBehind, type TrustedProxies } from './trusted-proxies.ts'

/** The options of `byIp`. */
export interface ByIpOptions {
  /** How many leading bits of an IPv6 address identify one client, 1 to 128. Default 56. Example: `64`. */
  ipv6Prefix?: number | undefined
  /**
   * How many proxies are in front of the server, or their addresses and ranges. The client's address is then read from X-Forwarded-For,
   * and a proxy setting of the framework is ignored. Default: the proxy setting of the framework, if the framework has one. Example: `1`,
   * or `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
  /**
   * The platform in front of the server, which reports the client's address in its own field. The field is trusted only if the
   * request comes from a proxy of the platform: for Cloudflare and Google, from their published ranges, and for other platforms,
   * from private addresses. In a runtime that shows no peer address, such as a worker, the field is always trusted. Default: no
   * field is trusted. Example: `'cloudflare'`.
   */
  platform?: AddressPlatform | undefined
  /** The addresses and ranges of `platform`'s proxies. Default: the built-in ranges of the platform. Example: `['10.0.3.0/24']`. */
  proxies?: readonly string[] | undefined
  /**
   * False to disable two warnings. The first warning: a request has a field of a proxy, but no proxy is trusted. The second warning: the
   * field of `platform` is missing, malformed, or sent by a peer that is not a proxy of the platform. Default true.
   */
  warn?: boolean | undefined
}

/**
 * How many requests are checked for all fields of proxies. A proxy adds its field to every request, so the first requests
 * show whether there is a proxy.
 */
const firstRequests = 1000
const forwarded = ['x-forwarded-for']
const platformNames = Object.values(platformFields).flatMap(({ names }) => names)
export const proxyFields: readonly string[] = [...new Set([...forwarded, ...platformNames, 'forwarded'])]

const readers = {
  ipv6Prefix: whole(56, { most: 128 }),
  ...{ trustedProxies: anything, platform: anything, proxies: anything },
  warn: flag(true),
}

/**
 * Limits by the client's address. The key is the IPv4 address, or the /56 network of an IPv6 address. IPv4 inside IPv6 counts as
 * IPv4. Behind a proxy, the framework's proxy setting determines the client's address. The first entry of X-Forwarded-For is
 * never trusted, because a client can forge it. If the framework trusts every proxy, the key is the address that the nearest
 * proxy saw.
 *
 *     rateLimit({ limit: 100, window: '15m', keys: byIp({ ipv6Prefix: 64 }) })
 *     rateLimit({ limit: 100, window: '15m', keys: byIp({ platform: 'cloudflare' }) })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if an option is invalid
 */
export function byIp(options: ByIpOptions = {}): KeyExtractor {
  const { ipv6Prefix, warn: warns } = readOptions('byIp', options, readers)
  const keys = new AddressKeys((address) => addressKey(address, ipv6Prefix))
  const find = findClient(options, warns)
  if (find !== undefined) {
    const extractor: KeyExtractor = (request, view) => keyOf(keys, find(request, view))
    return readsAddress(extractor, { find, isPlatform: options.platform !== undefined })
  }
  const extractor: KeyExtractor = (request, view) => {
    return keyOf(keys, warns ? watchedAddress(request, view) : view.address(request))
  }
  return readsAddress(extractor, { warns })
}

function keyOf(keys: AddressKeys, address: string | undefined): string | undefined {
  return address === undefined ? undefined : keys.of(address)
}

/** The function that reads the client's address from a request field. Undefined if `platform` and `trustedProxies` are not set. */
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

/** False after `warnOfFields` has given its warning: later requests are not checked. */
let watching = true
/**
 * How many more requests are checked for all of `proxyFields`. Later requests are checked only for X-Forwarded-For, because
 * each check takes time.
 */
let searches = firstRequests

/**
 * The client's address, as the framework finds it. Warns if a request has a field of a proxy and no proxy is trusted: either all
 * clients have the address of the proxy, or a client has forged the field. If the field contains the address that the framework reports,
 * the framework reads the field, so there is no warning.
 */
export function watchedAddress<Request>(request: Request, view: RequestView<Request>): string | undefined {
  if (watching && (searches > 0 || view.header(request, 'x-forwarded-for') !== undefined)) warnOfFields(request, view)
  return view.address(request)
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
    `A request has ${found[0]}, but no proxy is trusted. If a proxy is in front, all its clients share one limit, and allow and ` +
      `deny see only the proxy. ${trustFix(found[0])} If there is no proxy, run node --disable-warning=HEADGATE_FORWARDED, or limit ` +
      'by address with keys: byIp({ warn: false }).',
  )
}

/** How to trust the proxy that writes this field. */
export function trustFix(field: string): string {
  const platforms = Object.entries(platformFields).flatMap(([name, { names }]) =>
    names[0] === field ? [`'${name}'`] : [],
  )
  if (field === 'forwarded') {
    return 'This field is not read: let the proxy send X-Forwarded-For, and write byIp({ trustedProxies: 1 }).'
  }
  if (field !== 'x-forwarded-for') return `Write byIp({ platform: ${platforms.join(' or ')} }).`
  return (
    "Set it in the framework (Express: app.set('trust proxy', 1), Koa: new Koa({ proxy: true, maxIpsCount: 1 }), " +
    "Fastify: fastify({ trustProxy: '10.0.0.0/8' }), where a number of hops trusts nobody), or write byIp({ trustedProxies: 1 })."
  )
}

/** Allows the warning of `warnOfFields` to be given again. For tests: one process runs many tests. */
export function watchForwarded(): void {
  watching = true
  searches = firstRequests
}
