/*
 * Addresses, judged by their bits. A subscriber of IPv6 holds a whole prefix, /56 as a rule, and may send each request
 * from another of its addresses; and IPv4 may come dressed as IPv6 (`::ffff:192.0.2.1`, `::ffff:c000:201`). Both must
 * give one key.
 */

const groups = [0, 0, 0, 0, 0, 0, 0, 0]

const colon = 58
const dot = 46
const percent = 37
const bracket = 91

/** A key of each address seen of late: most requests come from one that came before. */
export class AddressKeys {
  readonly #known = new Map<string, string>()
  readonly #ipv6Prefix: number

  constructor(ipv6Prefix: number) {
    this.#ipv6Prefix = ipv6Prefix
  }

  of(address: string): string {
    if (address.indexOf(':') === -1) return address
    return this.#known.get(address) ?? this.#learn(address)
  }

  #learn(address: string): string {
    if (this.#known.size >= remembered) this.#known.clear()
    const key = addressKey(address, this.#ipv6Prefix)
    if (address.length <= longest) this.#known.set(address, key)
    return key
  }
}

const remembered = 16_384
/** `[0000:0000:0000:0000:0000:ffff:255.255.255.255%interface]:65535`, about; longer texts are no addresses. */
const longest = 64

/**
 * The text that names whose address this is: IPv4 as it is, IPv6 as its prefix (`2001:db8:0:100::/56`), IPv4 mapped into
 * IPv6 as IPv4. A port or a zone is left out. What is no address is returned as it came.
 */
export function addressKey(address: string, ipv6Prefix: number): string {
  if (address.indexOf(':') === -1) return address
  const end = address.charCodeAt(0) === bracket ? address.indexOf(']') : -1
  const text = end === -1 ? address : address.slice(1, end)
  const port = text.indexOf(':')
  const quad = text.indexOf('.')
  if (quad !== -1 && quad < port) return text.slice(0, port)
  if (!parse(text)) return address
  return holdsIPv4() ? dotted() : prefixText(ipv6Prefix)
}

/** Reads the eight groups of an IPv6 address (RFC 4291, 2.2) into `groups`; false if the text is not one. */
function parse(text: string): boolean {
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
    if (next === dot) return count <= 6 && quad(text, start, count) && close(count + 2, gap)
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
  return (position === text.length || text.charCodeAt(position) === percent) && close(count, gap)
}

function hex(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** Reads the dotted quad that ends an address into two groups. */
function quad(text: string, start: number, count: number): boolean {
  let position = start
  for (let part = 0; part < 4; part++) {
    const first = position
    let value = 0
    for (
      let digit = text.charCodeAt(position) - 48;
      digit >= 0 && digit <= 9;
      digit = text.charCodeAt(++position) - 48
    ) {
      value = value * 10 + digit
    }
    if (position === first || position - first > 3 || value > 255) return false
    const group = count + (part >> 1)
    groups[group] = part % 2 === 0 ? value * 256 : (groups[group] as number) + value
    if (part < 3 && text.charCodeAt(position++) !== dot) return false
  }
  const next = text.charCodeAt(position)
  return position === text.length || next === percent || next === colon
}

/** Moves what stands after `::` to the end. */
function close(count: number, gap: number): boolean {
  if (gap === -1) return count === 8
  if (count >= 8) return false
  const shift = 8 - count
  for (let n = 7; n >= gap + shift; n--) groups[n] = groups[n - shift] as number
  for (let n = gap; n < gap + shift; n++) groups[n] = 0
  return true
}

/** ::ffff:0:0/96 (RFC 4291, 2.5.5.2), or 64:ff9b::/96, behind which are all clients of a NAT64 (RFC 6052, 2.1). */
function holdsIPv4(): boolean {
  const [a, b, c, d, e, f] = groups
  if (c !== 0 || d !== 0 || e !== 0) return false
  return (a === 0 && b === 0 && f === 0xffff) || (a === 0x64 && b === 0xff9b && f === 0)
}

function dotted(): string {
  const high = groups[6] as number
  const low = groups[7] as number
  return `${high >> 8}.${high & 255}.${low >> 8}.${low & 255}`
}

function prefixText(bits: number): string {
  const whole = bits >> 4
  let text = ''
  for (let n = 0; n < whole; n++) text += n === 0 ? hexText(groups[n]) : `:${hexText(groups[n])}`
  const rest = bits & 15
  if (rest > 0) text += `${whole === 0 ? '' : ':'}${hexText((groups[whole] as number) & (0xffff << (16 - rest)))}`
  return bits === 128 ? text : `${text}::/${bits}`
}

function hexText(group: number | undefined): string {
  return (group as number).toString(16)
}
