import { HeadgateError, invalidOption, warnOnce } from '../../common/index.ts'
import { addressIn, isAddress } from './address.ts'
import { AddressList } from './address-list.ts'
import type { RequestView } from './key-extractor.ts'
import { type AddressPlatform, type PlatformField, platformFields } from './platforms.ts'

type AddressView<Request> = Pick<RequestView<Request>, 'address' | 'peer' | 'unaddressed' | 'incomplete' | 'header'>

/** Finds the client's address in a request. Undefined if the address cannot be known. */
export type FindClient = <Request>(request: Request, view: AddressView<Request>) => string | undefined

/**
 * Makes a function that finds the client's address behind the proxies of a platform, by these rules:
 *
 * - If the peer is not a proxy of the platform, the peer is the client, and the platform's field is ignored.
 * - If a proxy sends no address, the proxy is the client, as in a health check of a load balancer.
 * - If the field is repeated, or has no valid address at the expected position, the client's address is undefined.
 * - If the runtime shows no peer (`Framework.peer` is null), the field is trusted.
 *
 * @param proxies the ranges from which the platform's proxies connect, in place of the built-in ranges
 * @param warns true to warn once of each likely mistake in the settings
 * @throws HeadgateError `HEADGATE_OPTION` for an unknown platform and for an invalid range
 */
export function clientOn(
  platform: AddressPlatform,
  proxies: readonly string[] | undefined,
  warns: boolean,
): FindClient {
  const field = fieldOf(platform)
  const isProxy = testOf(proxyList(proxies === undefined ? field.proxies : proxies))
  const warn = warns ? warnOf(platform, field) : undefined
  return (request, view) => {
    const peer = view.peer(request)
    if (typeof peer === 'string' && !isProxy(peer)) {
      // A field that contains the peer's own address is not forged. In Lambda, for example, the event reports the peer.
      if (warn !== undefined && fieldIn(request, view, field)?.includes(peer) === false) warn('stranger', peer)
      return peer
    }
    // Over a unix socket, the peer is the nearest proxy. Over TCP, a missing address means that the client has disconnected.
    if (peer === undefined && !view.unaddressed?.(request)) return undefined
    const given = field.given && peer === null ? view.address(request) : undefined
    if (given !== undefined) return given
    if (view.incomplete?.(request)) return undefined
    const text = fieldIn(request, view, field)
    if (text === undefined) {
      warn?.('missing', peer)
      return peer ?? undefined
    }
    // If a request has the field several times, `text` is the list of all values, and a list is not an address.
    const whole = isAddress(text) ? text : undefined
    const address = field.fromEnd === undefined ? whole : entryAddress(text, field.fromEnd)
    if (address === undefined) warn?.('malformed', peer)
    return address
  }
}

function fieldOf(platform: AddressPlatform): PlatformField {
  if (typeof platform === 'string' && Object.hasOwn(platformFields, platform)) return platformFields[platform]
  const names = Object.keys(platformFields).map((name) => `'${name}'`)
  const fix = 'Write byIp({ trustedProxies: 1 }) behind any other proxy.'
  throw invalidOption('byIp: platform', `one of ${names.join(', ')}`, platform, fix)
}

function proxyList(proxies: readonly string[]): AddressList {
  const list = new AddressList(proxies, 'proxies')
  if (proxies.length > 0) return list
  throw new HeadgateError(
    'HEADGATE_OPTION',
    "byIp: proxies is empty, so no field would be believed. Write proxies: ['10.0.0.0/8'], or leave platform and proxies out.",
  )
}

/**
 * Returns a function that is true for a peer on the list. The function remembers the last proxy, because most requests come from
 * a few proxies, and a search in the list is slow.
 */
function testOf(list: AddressList): (peer: string) => boolean {
  let last: string | undefined
  return (peer) => {
    if (peer === last) return true
    if (!list.has(peer)) return false
    last = peer
    return true
  }
}

function fieldIn<Request>(request: Request, view: AddressView<Request>, { names }: PlatformField): string | undefined {
  const text = view.header(request, names[0])
  return text === undefined && names[1] !== undefined ? view.header(request, names[1]) : text
}

/**
 * The address in one entry of a comma-separated list. The entry may have a port, which some proxies append. Undefined if the entry
 * is not an address, or has a zone, because no client's address has a zone.
 * @param fromEnd the position of the entry, counted from the end of the list; 1 is the last entry
 */
function entryAddress(list: string, fromEnd: number): string | undefined {
  let end = list.length
  let comma = list.lastIndexOf(',')
  for (let n = 1; n < fromEnd; n++) {
    if (comma === -1) return undefined
    end = comma
    comma = end === 0 ? -1 : list.lastIndexOf(',', end - 1)
  }
  const entry = list.slice(comma + 1, end).trim()
  return entry.includes('%') ? undefined : addressIn(entry)
}

type Fault = 'stranger' | 'missing' | 'malformed'

/**
 * Returns a function that warns once of each kind of fault. Many requests may have the same fault, so the text of the warning
 * is made only for the first of these requests.
 */
function warnOf(
  platform: AddressPlatform,
  { names }: PlatformField,
): (fault: Fault, peer: string | undefined | null) => void {
  const known = new Set<Fault>()
  return (fault, peer) => {
    if (known.has(fault)) return
    known.add(fault)
    warnOnce(
      'HEADGATE_PLATFORM',
      `byIp({ platform: '${platform}' }): ${warnings[fault](names[0], peer ?? 'an unknown peer')}`,
      fault,
    )
  }
}

const silence = 'byIp({ warn: false }) silences this.'
const warnings: Readonly<Record<Fault, (field: string, peer: string) => string>> = {
  stranger: (field, peer) =>
    `a request from ${peer} has ${field}, but that address is not one of the platform's proxies, so the request is limited by ` +
    `that address. If it is one of your proxies, list all of them: proxies: ['${peer}']. If not, somebody tried to forge ` +
    `the field. ${silence}`,
  missing: (field, peer) =>
    `a request from ${peer} has no ${field}, so it is limited by that address, or refused if there is none. That is right for a ` +
    `health check. If it happens to your clients, the proxy does not send the field: see docs/addresses.md. ${silence}`,
  malformed: (field, peer) =>
    `${field} of a request from ${peer} is not the one address that is due, so the request has no address. The proxy must ` +
    `overwrite what a client sends: see docs/addresses.md. ${silence}`,
}
