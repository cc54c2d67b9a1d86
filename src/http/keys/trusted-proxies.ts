import { HeadgateError, shown } from '../../common/index.ts'
import type { Framework } from '../framework.ts'
import { AddressList } from './address-list.ts'
import { reportedAddress } from './no-address.ts'

/** How many proxies are in front of the server (`1`), or their addresses and CIDR ranges (`['10.0.0.0/8']`). */
export type TrustedProxies = number | readonly string[]

/** The functions with which `clientBehind` reads a request. */
export type PeerView<Request> = Pick<Framework<Request, never>, 'peer' | 'unaddressed' | 'incomplete' | 'header'>

/**
 * Makes a function that finds the client's address behind trusted proxies, starting at the end of X-Forwarded-For. The
 * nearest proxy has written the last entry of this list, the proxy before the nearest has written the entry before, and so
 * on. An entry that a trusted proxy has not written is not trusted. If a trusted proxy has written an entry that is no address, the
 * client has no address.
 * @throws HeadgateError `HEADGATE_OPTION` if the proxies are invalid
 */
export function clientBehind(
  proxies: TrustedProxies,
): <Request>(request: Request, view: PeerView<Request>) => string | undefined {
  const isTrusted = trustOf(proxies)
  return (request, view) => {
    if (view.incomplete?.(request)) return undefined
    const peer = view.peer(request) ?? undefined
    const header = view.header(request, 'x-forwarded-for')
    if (header === undefined) return peer
    // Over a unix socket, the peer is the nearest proxy. Over TCP, a missing address means that the client has disconnected, and
    // the header may be the client's text.
    if (peer === undefined && !view.unaddressed?.(request)) return undefined
    const forwarded = header.split(',').filter(isNotBlank)
    let client = peer
    for (let hop = 0; hop < forwarded.length && (client === undefined || isTrusted(client, hop)); hop++) {
      client = reportedAddress(forwarded[forwarded.length - 1 - hop])
      if (client === undefined) return undefined
    }
    return client
  }
}

/** False for an empty element of a list, which a reader has to ignore (RFC 9110, 5.6.1). */
const isNotBlank = (text: string): boolean => text.trim() !== ''

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

/** The largest `trustedProxies`. No real request passes more proxies, so a larger number would trust entries that clients write. */
const mostProxies = 10

/** The error for a setting that trusts addresses of clients. @param trusted what the setting trusts, for the message */
function tooTrusting(trusted: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `trustedProxies trusts ${trusted}, so clients could choose their address. Write how many proxies are in front of this ` +
      "server (trustedProxies: 1), or only their own addresses and ranges (trustedProxies: ['10.0.0.0/8']).",
  )
}

/** Checks the option `trustedProxies`. Returns the option unchanged. @throws HeadgateError `HEADGATE_OPTION` if the option is invalid */
export function trustedProxiesOption(proxies: TrustedProxies): TrustedProxies {
  trustOf(proxies)
  return proxies
}
