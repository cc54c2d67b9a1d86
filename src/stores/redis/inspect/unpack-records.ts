/* Reads the packed value of a key (see script/records.ts): the ban of the key, and its states in the form that `src/algorithms` uses. */

import type { StoredBan } from '../../../algorithms/bans/index.ts'
import { type Definition, revive } from '../../../algorithms/index.ts'
import type { KeptKey, KeptState } from '../../../inspection/index.ts'
import { kindOf, kinds } from '../script/index.ts'

/**
 * The value of a key has a record for each state. A first byte of a record below 254 is the size of the state. The first bytes 254 and 255
 * mark a log, or a state of more than 253 bytes. Then the size has 4 bytes, and follows the policy's id and definition.
 */
const narrow = 254
/**
 * Each stored state has a kind, the number of its algorithm; a ban has the kind 31. Kinds from 32 on mean that another version of headgate
 * wrote the state in another layout.
 */
const layouts = 32
const banKind = 31

/**
 * How many bytes a log entry has for its time, and for its running total of units. `narrowEntry` applies to a log whose first byte is
 * `narrow`, and `wideEntry` to any other log.
 */
const narrowEntry = [6, 3] as const
const wideEntry = [7, 7] as const

/**
 * Reads the ban and the states of a key.
 * @param names the known names of policies, by their hashes
 * @throws Error if the value does not have the layout of this version
 */
export function unpackRecords(value: Buffer, names: ReadonlyMap<string, string>): Pick<KeptKey, 'states' | 'ban'> {
  let ban: StoredBan | undefined
  const states: KeptState[] = []
  for (let at = 0; at < value.length; ) {
    const form = value.readUInt8(at)
    const defined = value.readUInt8(at + 1)
    const hash = value.toString('hex', at + 2, at + 6)
    let start = at + 6 + defined
    const kind = value.readUInt8(at + 6)
    if (defined === 0 || kind >= layouts) throw new Error('unknown layout')
    const size = form < narrow ? form : value.readUInt32LE(start)
    if (form >= narrow) start += 4
    if (form < 7 || start + size > value.length) throw new Error('cut record')
    const bytes = value.subarray(start, start + size)
    const definedBytes = value.subarray(at + 6, at + 6 + defined)
    at = start + size
    if (kind === banKind) {
      ban = unpackBan(bytes)
      continue
    }
    const definition = unpackDefinition(kind, definedBytes)
    states.push({ name: names.get(hash), hash, definition, s: unpackState(bytes, form, definition) })
  }
  return { states, ban }
}

/** Reads a ban: when the ban began, when the ban ends, and the reason, if there is one. */
function unpackBan(bytes: Buffer): StoredBan {
  const reason = bytes.toString('utf8', 14)
  return { from: seven(bytes, 0), until: seven(bytes, 7), reason: reason === '' ? undefined : reason }
}

/** Reads the definition of an algorithm. If this version does not know the kind, the result has only a name for the kind. */
function unpackDefinition(kind: number, bytes: Buffer): Definition {
  const name = kindOf(kind)
  if (name === undefined) return { kind: `kind ${kind}`, span: 0, parameters: [] }
  const numbers = unpackNumbers(bytes)
  if (kinds[name].spans && numbers.length > 1)
    return { kind: name, span: numbers[0] as number, parameters: numbers.slice(1) }
  if (!numbers.every(Number.isFinite)) throw new Error('unknown layout')
  const span = revive({ kind: name, span: 0, parameters: numbers })?.span ?? 0
  return { kind: name, span, parameters: numbers }
}

/** Reads numbers with seven bits per byte, the lowest bits first. The bytes 128 and 0 mean that a double follows. */
function unpackNumbers(bytes: Buffer): number[] {
  const numbers: number[] = []
  for (let at = 1; at < bytes.length; ) {
    if (bytes[at] === 128 && bytes[at + 1] === 0) {
      numbers.push(bytes.readDoubleLE(at + 2))
      at += 10
      continue
    }
    let number = 0
    let place = 1
    for (; (bytes[at] as number) >= 128; at++, place *= 128) number += ((bytes[at] as number) - 128) * place
    numbers.push(number + (bytes[at++] as number) * place)
  }
  return numbers
}

/** The kinds whose states have steps and bookings (see src/algorithms/buckets/bookings.ts). */
const buckets: readonly string[] = ['bucket', 'intervalBucket']

/**
 * Reads the numbers of a state. Zeros at the end of a state are not stored. After its other numbers, a bucket has the number of its steps, and
 * then its steps, with two numbers each.
 */
function unpackState(bytes: Buffer, form: number, definition: Definition): number[] {
  const algorithm = revive(definition)
  if (algorithm === undefined) return []
  if (algorithm.grows) return unpackLog(bytes, form)
  const size = kinds[algorithm.kind].fractions ? 8 : 7
  const s = Array.from({ length: Math.max(algorithm.slots, bytes.length / size) }, (_, n) => {
    if (n * size >= bytes.length) return 0
    return size === 8 ? bytes.readDoubleLE(n * size) : seven(bytes, n * size)
  })
  const steps = buckets.includes(algorithm.kind) ? (s[algorithm.slots] ?? 0) : 0
  if (steps < 0 || 2 * steps > s.length) throw new Error('unknown layout')
  return s
}

/**
 * Reads a log. Each entry has the lower bytes of its time and of its running total. The upper bytes are calculated from a time
 * and a total that the log has before its entries, because no entry has smaller numbers.
 */
function unpackLog(bytes: Buffer, form: number): number[] {
  const [last, before, base] = [seven(bytes, 0), seven(bytes, 7), seven(bytes, 14)]
  const [time, total] = form === narrow ? narrowEntry : wideEntry
  const hasId = (bytes.length - 21) % (time + total) === 7
  const entries: number[] = []
  for (let at = hasId ? 28 : 21; at < bytes.length; at += time + total) {
    entries.push(above(base, low(bytes, at, time), time), above(before, low(bytes, at + time, total), total))
  }
  return [last, 0, entries.length / 2, before, hasId ? seven(bytes, 21) : 0, ...entries]
}

function seven(bytes: Buffer, at: number): number {
  return bytes.readUIntLE(at, 4) + bytes.readIntLE(at + 4, 3) * 2 ** 32
}

function low(bytes: Buffer, at: number, size: number): number {
  return size === 7 ? seven(bytes, at) : bytes.readUIntLE(at, size)
}

/** The smallest number that is at least `least` and whose lower `size` bytes are `lowest`. */
function above(least: number, lowest: number, size: number): number {
  const range = size === 7 ? 2 ** 53 : 256 ** size
  const more = (lowest - least) % range
  return least + (more < 0 ? more + range : more)
}
