/*
 * Addresses are compared by their bits, because an address has several forms: IPv4 may arrive as IPv6 (`::ffff:192.0.2.1` or
 * `::ffff:c000:201`). So an address is read into eight groups of 16 bits. IPv4 becomes `::ffff:a.b.c.d`.
 */

/** The eight groups of 16 bits of the address that was read last. All reads use the same array, so a read allocates no memory. */
const groups = [0, 0, 0, 0, 0, 0, 0, 0]

const colon = 58
const dot = 46
const percent = 37
const bracket = 91

/**
 * The eight groups of an address, for an `AddressList`. A port, brackets and a zone are ignored. A NAT64 address stays an IPv6
 * address. Undefined if the text is not an address. The next call overwrites the returned array, so copy the array if you need it
 * later.
 */
export function parseAddress(address: string): readonly number[] | undefined {
  const text = withoutPort(address)
  if (text.indexOf(':') === -1) return parseIPv4(text)
  return readGroups(text) ? groups : undefined
}

/** True for an IPv4 or IPv6 address as RFC 4291 writes it: no port, no brackets, no zone, no leading zeros in IPv4 numbers. */
export function isAddress(text: string): boolean {
  const last = text.lastIndexOf(':')
  if (last === -1) return dottedQuad.test(text)
  if (text.indexOf('%') !== -1) return false
  const quad = text.indexOf('.')
  return (quad === -1 || (quad > last && dottedQuad.test(text.slice(last + 1)))) && parseIPv6(text) !== undefined
}

/**
 * The address in a text that a server or a proxy reports. The text may have brackets, a port (`192.0.2.1:80`,
 * `[2001:db8::1]:80`), or a zone after IPv6. Undefined for a list of addresses, because a client may have written the first
 * entry.
 */
export function addressIn(text: string): string | undefined {
  if (isAddress(text)) return text
  if (text.length > maxLength) return undefined
  const match = bracketsOrPort.exec(text)
  const address = (match?.[1] ?? match?.[2] ?? text).replace(zoneOfIPv6, '$1')
  return isAddress(address) ? address : undefined
}

/** In characters, about `[0000:0000:0000:0000:0000:ffff:255.255.255.255%interface]:65535`. A longer text is not an address. */
export const maxLength = 64
const bracketsOrPort = /^(?:\[([^\]]*:[^\]]*)\](?::\d{1,5})?|([^%]*\.\d{1,3}):\d{1,5})$/
const zoneOfIPv6 = /^([^%]*:[^%]*)%[\w.:@~+-]+$/

export function isIPv4([a, b, c, d, e, f]: readonly number[]): boolean {
  return a === 0 && b === 0 && c === 0 && d === 0 && e === 0 && f === 0xffff
}

/** Removes the port and the brackets from `192.0.2.1:80` and `[2001:db8::1]:80`. Returns any other text unchanged. */
export function withoutPort(address: string): string {
  const end = address.charCodeAt(0) === bracket ? address.indexOf(']') : -1
  const text = end === -1 ? address : address.slice(1, end)
  const port = text.indexOf(':')
  if (port === -1) return address
  const quad = text.indexOf('.')
  return quad !== -1 && quad < port ? text.slice(0, port) : text
}

const dottedQuad = /^(?:(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)(?:\.(?!$)|$)){4}$/

function parseIPv4(text: string): readonly number[] | undefined {
  if (!dottedQuad.test(text)) return undefined
  readQuad(text, 0, 6)
  return mapped()
}

/**
 * Reads an IPv6 address, with or without a zone, for a key (RFC 4291, 2.2). A NAT64 address becomes the IPv4 address of its
 * client, so that the client has the same quota over IPv4 and over NAT64. Undefined if the text is not an IPv6 address.
 */
export function parseIPv6(text: string): readonly number[] | undefined {
  if (!readGroups(text)) return undefined
  return isNat64() ? mapped() : groups
}

/** True if the address in `groups` is in 64:ff9b::/96: an IPv4 client behind a NAT64 (RFC 6052, 2.1). */
function isNat64(): boolean {
  const [a, b, c, d, e, f] = groups
  return a === 0x64 && b === 0xff9b && c === 0 && d === 0 && e === 0 && f === 0
}

/**
 * Changes the address in `groups` to the IPv4 address that its last two groups contain, written as `::ffff:a.b.c.d` (RFC
 * 4291, 2.5.5.2).
 */
function mapped(): readonly number[] {
  for (let n = 0; n < 5; n++) groups[n] = 0
  groups[5] = 0xffff
  return groups
}

function readGroups(text: string): boolean {
  let count = 0
  let gap = -1
  let position = 0
  if (text.charCodeAt(0) === colon) {
    if (text.charCodeAt(1) !== colon) return false
    gap = 0
    position = 2
  }
  while (position < text.length && text.charCodeAt(position) !== percent) {
    if (count === 8) return false
    const start = position
    let value = 0
    for (let digit = hex(text.charCodeAt(position)); digit >= 0; digit = hex(text.charCodeAt(++position))) {
      value = value * 16 + digit
    }
    const next = text.charCodeAt(position)
    if (next === dot) return count <= 6 && readQuad(text, start, count) && expandGap(count + 2, gap)
    if (position === start || position - start > 4) return false
    groups[count++] = value
    if (next !== colon) break
    position++
    if (text.charCodeAt(position) === colon) {
      if (gap !== -1) return false
      gap = count
      position++
    } else if (position === text.length) return false
  }
  return (position === text.length || text.charCodeAt(position) === percent) && expandGap(count, gap)
}

function hex(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/**
 * Reads the IPv4 address that begins at the position `start` of the text into two groups. Returns false if this IPv4 address
 * is invalid.
 * @param count how many groups come before these two groups
 */
function readQuad(text: string, start: number, count: number): boolean {
  let position = start
  for (let part = 0; part < 4; part++) {
    const first = position
    let value = 0
    for (let digit = decimal(text, position); digit >= 0; digit = decimal(text, ++position)) value = value * 10 + digit
    if (position === first || position - first > 3 || value > 255) return false
    const group = count + (part >> 1)
    groups[group] = part % 2 === 0 ? value * 256 : (groups[group] as number) + value
    if (part < 3 && text.charCodeAt(position++) !== dot) return false
  }
  const next = text.charCodeAt(position)
  return position === text.length || next === percent || next === colon
}

function decimal(text: string, position: number): number {
  const digit = text.charCodeAt(position) - 48
  return digit <= 9 ? digit : -1
}

/** Moves the groups after `::` to the end of the array, and fills the gap with zeros. Returns false for a wrong number of groups. */
function expandGap(count: number, gap: number): boolean {
  if (gap === -1) return count === 8
  if (count >= 8) return false
  const shift = 8 - count
  for (let n = 7; n >= gap + shift; n--) groups[n] = groups[n - shift] as number
  for (let n = gap; n < gap + shift; n++) groups[n] = 0
  return true
}

/** The part of a socket of Node that `isUnixSocket` uses. */
export interface LocalSocket {
  readonly destroyed: boolean
  readonly localPort?: number | undefined
  readonly remoteAddress?: string | undefined
}

/** The part of a request of node:http that `isIncomplete` uses. */
export interface LocalRequest {
  /** The stream of a request of node:http2. */
  readonly stream?: unknown
  readonly rawHeaders?: readonly string[] | undefined
  readonly socket?: object | null | undefined
}

/**
 * For `Framework.incomplete`: true if Node may have dropped fields of a request. Node 20 keeps the first 1000 fields, or as many as
 * `server.maxHeadersCount` says, so a client with many fields can keep Node from reading those of a proxy. Later versions answer such a
 * request with status 431, and in HTTP/2 each version refuses the request.
 */
export function isIncomplete(request: LocalRequest): boolean {
  const { rawHeaders = [], stream } = request
  if (rawHeaders.length === 0 || stream !== undefined) return false
  const { server } = (request.socket ?? {}) as { server?: { maxHeadersCount?: number | null } | null }
  const most = server?.maxHeadersCount ?? 1000
  return most > 0 && rawHeaders.length >= 2 * most
}

/**
 * For `Framework.unaddressed`: true if an open socket has no remote address because it is a unix socket (a pipe on Windows). A TCP
 * socket that was reset has no remote address either, but its server has a port, so the result is false.
 */
export function isUnixSocket(socket: LocalSocket): boolean {
  if (socket.destroyed || socket.remoteAddress !== undefined || socket.localPort !== undefined) return false
  const { server } = socket as { server?: { address?(): unknown } }
  const listening = server?.address?.()
  return typeof listening !== 'object' || listening === null
}
