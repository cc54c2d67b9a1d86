import { invalidOption } from '../../errors.ts'
import { flag, knownOptions } from '../../options.ts'
import { warnOnce } from '../../warn.ts'
import { AddressKeys } from './address-key.ts'
import type { KeyExtractor, RequestView } from './key-extractor.ts'
import { marksAddress } from './needs-address.ts'
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
  /** Set it to false to get no warning when a request has X-Forwarded-For and no proxy is trusted. Default true. */
  warn?: boolean
}

/**
 * By client address: IPv4 as it is, IPv6 by its /56, IPv4 inside IPv6 as IPv4. Behind a proxy, the framework's own
 * setting decides which address that is. The leftmost entry of X-Forwarded-For is never believed, because a client can
 * forge it. If the framework trusts every proxy, the key is the address that the nearest proxy saw.
 *
 *     rateLimit({ limit: 100, window: '15m', keys: byIp({ ipv6Prefix: 64 }) })
 *
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function byIp(options: ByIpOptions = {}): KeyExtractor {
  knownOptions('byIp', options, ['ipv6Prefix', 'trustedProxies', 'warn'])
  const prefix = options.ipv6Prefix ?? 56
  if (!Number.isInteger(prefix) || prefix < 1 || prefix > 128) {
    throw invalidOption('byIp: ipv6Prefix', 'a whole number of bits from 1 to 128', prefix, 'Leave it out for 56.')
  }
  const keys = new AddressKeys(prefix)
  const { trustedProxies } = options
  const client = trustedProxies === undefined ? undefined : clientBehind(trustedProxies)
  const warns = client === undefined && flag(options.warn ?? true, 'byIp: warn')
  return marksAddress((request, view) => {
    const address = client === undefined ? view.address(request) : client(request, view)
    if (warns && watching) warnOfForwarded(request, view)
    return address === undefined ? undefined : keys.of(address)
  })
}

/** False once the warning was given: then requests are not checked any more. */
let watching = true

/**
 * X-Forwarded-For without a trusted proxy: either all clients share the quota of the proxy, or a client forges the
 * header.
 */
function warnOfForwarded<Request>(request: Request, view: RequestView<Request>): void {
  if (view.header(request, 'x-forwarded-for') === undefined || view.trustsProxy(request)) return
  watching = false
  warnOnce(
    'HEADGATE_FORWARDED',
    'A request has X-Forwarded-For, but no proxy is trusted. If a proxy is in front, all its clients share one limit. ' +
      "Set it in the framework (Express: app.set('trust proxy', 1), Koa: new Koa({ proxy: true, maxIpsCount: 1 }), " +
      "Fastify: fastify({ trustProxy: '10.0.0.0/8' })), or write byIp({ trustedProxies: 1 }). If there is no proxy, " +
      'write keys: byIp({ warn: false }).',
  )
}

/** Allows the warning again. For tests: many tests run in one process. */
export function watchForwarded(): void {
  watching = true
}
