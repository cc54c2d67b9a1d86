/*
 * Addresses, judged by their bits. A subscriber of IPv6 holds a whole prefix, /56 as a rule, and may send each request
 * from another of its addresses; and IPv4 may come dressed as IPv6 (`::ffff:192.0.2.1`, `::ffff:c000:201`). Both must
 * give one key.
 */

const groups = new Uint16Array(8)

const colon = 58
const dot = 46

/**
 * The text that names whose address this is: IPv4 as it is, IPv6 as its prefix (`2001:db8:0:100::/56`), IPv4 mapped into
 * IPv6 as IPv4. A port or a zone is left out. What is no address is returned as it came.
 */
export function addressKey(address: string, ipv6Prefix: number): string {
  if (address.indexOf(':') === -1) return address
  const text = address.charCodeAt(0) === 91 ? address.slice(1, address.indexOf(']')) : address
  const port = text.indexOf(':')
  if (text.indexOf('.') !== -1 && text.indexOf('.') < port) return text.slice(0, port)
  if (!parse(text)) return address
  if (isMapped()) return dotted()
  return prefixText(ipv6Prefix)
}

/** Reads the eight groups of an IPv6 address (RFC 4291, 2.2) into `groups`; false if the text is not one. */
function parse(text: string): boolean {
  groups.fill(0)
  let count = 0
  let gap = -1
  let position = 0
  if (text.charCodeAt(0) === colon) {
    if (text.charCodeAt(1) !== colon) return false
    gap = 0
    position = 2
  }
  while (position < text.length && text.charCodeAt(position) !== 37) {
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
    if (next !== colon) continue
    position++
    if (text.charCodeAt(position) === colon) {
      if (gap !== -1) return false
      gap = count
      position++
    } else if (position === text.length) return false
  }
  return (position === text.length || text.charCodeAt(position) === 37) && close(count, gap)
}

function hex(code: number): number {
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** Reads a dotted quad into two groups. */
function quad(text: string, start: number, count: number): boolean {
  const parts = text.slice(start).split('%')[0]?.split('.') ?? []
  if (parts.length !== 4 || !parts.every((part) => /^\d{1,3}$/.test(part) && Number(part) < 256)) return false
  const [a, b, c, d] = parts.map(Number) as [number, number, number, number]
  groups[count] = a * 256 + b
  groups[count + 1] = c * 256 + d
  return true
}

/** Moves what stands after `::` to the end. */
function close(count: number, gap: number): boolean {
  if (gap === -1) return count === 8
  if (count >= 8) return false
  groups.copyWithin(8 - (count - gap), gap, count)
  groups.fill(0, gap, 8 - (count - gap))
  return true
}

/** ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
function isMapped(): boolean {
  return (
    groups[5] === 0xffff && groups[0] === 0 && groups[1] === 0 && groups[2] === 0 && groups[3] === 0 && groups[4] === 0
  )
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
