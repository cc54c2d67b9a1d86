import { HeadgateError, shown } from '../../common/index.ts'
import type { Framework } from '../framework.ts'
import { addressIn } from './address.ts'
import { AddressList } from './address-list.ts'

/** How many proxies are in front (`1`), or their addresses and CIDR ranges (`['10.0.0.0/8']`). */
export type TrustedProxies = number | readonly string[]

/** What `clientBehind` reads of a request. */
export type PeerView<Request> = Pick<Framework<Request, never>, 'peer' | 'unaddressed' | 'header'>

/**
 * Finds the client's address behind trusted proxies. X-Forwarded-For is read from its end: the proxy that we see wrote
 * the last entry, the proxy that it saw wrote the entry before. An entry that no trusted proxy wrote is not believed.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function clientBehind(
  proxies: TrustedProxies,
): <Request>(request: Request, view: PeerView<Request>) => string | undefined {
  const isTrusted = trustOf(proxies)
  return (request, view) => {
    const peer = view.peer(request) ?? undefined
    const header = view.header(request, 'x-forwarded-for')
    if (header === undefined) return peer
    // A unix socket is the nearest proxy. A TCP client without an address has left, and may have written the header.
    if (peer === undefined && !view.unaddressed?.(request)) return undefined
    const forwarded = header.split(',')
    let client = peer
    for (let hop = 0; hop < forwarded.length && (client === undefined || isTrusted(client, hop)); hop++) {
      const before = (forwarded[forwarded.length - 1 - hop] as string).trim()
      if (addressIn(before) === undefined) return client
      client = before
    }
    return client
  }
}

function trustOf(proxies: TrustedProxies): (address: string, hop: number) => boolean {
  if (Array.isArray(proxies)) {
    const list = new AddressList(proxies, 'trustedProxies')
    if (list.isBroad) throw tooTrusting('a range of that size')
    if (proxies.length > 0) return (address) => list.has(address)
  } else if (Number.isSafeInteger(proxies) && (proxies as number) >= 1) {
    if ((proxies as number) > mostProxies) throw tooTrusting(`${proxies} proxies`)
    return (_address, hop) => hop < (proxies as number)
  }
  const expected = 'the number of proxies in front or a list of their addresses and ranges'
  const given = Array.isArray(proxies) ? 'an empty list' : shown(proxies)
  const fix = "Write trustedProxies: 1 or trustedProxies: ['10.0.0.0/8'], or leave it out to trust no proxy."
  throw new HeadgateError('HEADGATE_OPTION', `trustedProxies must be ${expected}, got ${given}. ${fix}`)
}

/** More proxies than any request passes. A larger number believes what clients write. */
const mostProxies = 10

/** The error for a setting that trusts clients. @param trusted what it trusts */
function tooTrusting(trusted: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `trustedProxies trusts ${trusted}, so clients could choose their address. Write how many proxies are in front of this ` +
      "server (trustedProxies: 1), or only their own addresses and ranges (trustedProxies: ['10.0.0.0/8']).",
  )
}

/**
 * Checks the option `trustedProxies` of an adapter, and returns it unchanged.
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function trustedProxiesOption(proxies: TrustedProxies): TrustedProxies {
  trustOf(proxies)
  return proxies
}
