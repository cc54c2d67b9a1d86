import type { Policy } from '../../../../algorithms/index.ts'
import type { LogRecord, ShortStep } from './step.ts'

/** A policy for which a short script (for the frequent calls) contains Lua code. */
export interface ShortPolicy {
  /** The number of the policy, from 1 on. */
  readonly n: number
  readonly policy: Policy
  /** The first bytes of the policy's stored state in the value of a key, before the numbers of the state. */
  readonly head: Buffer
  readonly step: ShortStep
}

/** Lua code that reads and writes the value of a key: a record (stored state) for each policy (see ../records.ts). */
export interface Records {
  /** The names of all variables that the code uses. */
  readonly names: readonly string[]
  /** Lua code that checks a value, and sets `plain` to true if this short script (for frequent calls) can decide the key. */
  readonly check: string
  /** Lua code that reads the states from a value that the short script can decide. */
  readonly read: string
  /** Lua code that sets `text` to the value that contains the states. */
  readonly pack: string
}

/** Makes the Lua code for these policies. @param parts the policies; if one is a sliding log, it has to be the first */
export function recordsOf(parts: readonly ShortPolicy[]): Records {
  const log = parts[0]?.step.log
  return log === undefined ? fixedRecords(parts) : withLog(parts[0] as ShortPolicy, log, fixedRecords(parts.slice(1)))
}

/** Lua code that sets the Lua variables of this policy to the state of a new key. */
export function freshState({ step: { log, state, lastNumber } }: ShortPolicy): string {
  if (log !== undefined) return log.fresh
  const names = lastNumber === undefined ? state : [...state, lastNumber]
  return `${names.join(', ')} = ${names.map(() => '0').join(', ')}`
}

/** The first bytes (head) of each policy's stored state, and the name of the Lua variable for these bytes. */
export function headsOf(parts: readonly ShortPolicy[]): readonly (readonly [name: string, head: Buffer])[] {
  return parts.flatMap(({ n, head, step: { lastNumber } }) => {
    const usual = [`begin${n}`, head] as const
    return lastNumber === undefined ? [usual] : [usual, [`long${n}`, longer(head)] as const]
  })
}

/**
 * The head (first bytes) of a stored state that has one number more than usual. The first byte of a head is the size of the state; a
 * number has 7 bytes.
 */
function longer(head: Buffer): Buffer {
  return Buffer.concat([Buffer.from([(head[0] as number) + 7]), head.subarray(1)])
}

interface FixedRecords extends Records {
  /** A Lua expression that is true if the stored states of the policies have `bytes` bytes together. */
  hasLength(bytes: string): string
  /** Lua code that reads the policies' states, which begin after the first `bytes` bytes of the value. */
  readAfter(bytes: string): string
  /** A Lua expression that is true if the short script can decide with the states that `readAfter` reads. */
  isPlain(bytes: string): string
  /** A Lua expression for the packed `values`, in the format `format`, followed by the packed states. */
  packAfter(format: string, values: readonly string[]): string
}

/**
 * Lua code for records (stored states) of fixed length: each state has a fixed count of numbers. Only the last record may leave out its
 * last number, if that number is 0.
 */
function fixedRecords(parts: readonly ShortPolicy[]): FixedRecords {
  const last = parts.at(-1)?.step.lastNumber
  const [short, long] = [formOf(parts, undefined), formOf(parts, last)]
  const hasLength = (bytes: string): string =>
    last === undefined ? `${bytes} == ${short.length}` : `(${bytes} == ${short.length} or ${bytes} == ${long.length})`
  const readAfter = (bytes: string): string =>
    last === undefined
      ? short.readAfter(bytes)
      : `if #value - ${bytes} == ${short.length} then\n${short.readAfter(bytes)}\n${last} = 0\nelse\n${long.readAfter(bytes)}\nend`
  const isPlain = (bytes: string): string => {
    const heads = parts.map(({ n }) => `begin${n}`)
    if (last !== undefined)
      heads.push(`(#value - ${bytes} == ${short.length} and ${heads.pop()} or long${parts.at(-1)?.n})`)
    return parts.map((part, index) => isUsual(part, heads[index] as string)).join(' and ')
  }
  const packAfter = (format: string, values: readonly string[]): string => {
    const [some, all] = [short, long].map((form) => {
      return `pack('<${format}${form.format}', ${[...values, ...form.values].join(', ')})`
    })
    return last === undefined ? `${some}` : `${last} == 0 and ${some} or ${all}`
  }
  const read = readAfter('0')
  const check = `
plain = ${hasLength('#value')}
if plain then
  ${read}
  plain = ${isPlain('0')}
end
`
  const pack = `local text = ${packAfter('', [])}`
  return { names: long.names, check, read, pack, hasLength, readAfter, isPlain, packAfter }
}

/**
 * The Lua code for stored states with or without the last number of the last state.
 * @param last the name of the last state's last number; undefined for states without that number
 */
function formOf(parts: readonly ShortPolicy[], last: string | undefined) {
  const records = parts.map(({ n, head, step: { state } }, index) => {
    const isLong = last !== undefined && index === parts.length - 1
    return { n, head, begin: isLong ? `long${n}` : `begin${n}`, numbers: isLong ? [...state, last] : state }
  })
  const names = records.flatMap(({ n, numbers }) => [`head${n}`, ...numbers])
  const values = records.flatMap(({ begin, numbers }) => [begin, ...numbers])
  const format = records.map(({ head, numbers }) => `c${head.length}${'i7'.repeat(numbers.length)}`).join('')
  return {
    names,
    format,
    values,
    length: records.reduce((sum, { head, numbers }) => sum + head.length + 7 * numbers.length, 0),
    readAfter: (bytes: string) => `${names.join(', ')} = unpack('<${format}', value, ${bytes} + 1)`,
  }
}

function isUsual({ n, policy: { algorithm } }: ShortPolicy, head: string): string {
  return `head${n} == ${head} and last${n} - now < ${algorithm.tolerance}`
}

function withLog({ n, head, step }: ShortPolicy, log: LogRecord, others: FixedRecords): Records {
  const { names, hasLength, readAfter, isPlain, packAfter } = others
  const none = names.length === 0
  const bytes = 7 * log.numbers.length
  const format = `c${head.length}I4${'i7'.repeat(log.numbers.length)}`
  const numbers = `${[`head${n}`, `size${n}`, ...log.numbers].join(', ')} = unpack('<${format}', value)`
  const size = `(${head.length + 4} + size${n})`
  const rest = `${log.entries}${none ? '' : readAfter(size)}`
  const values = [`begin${n}`, `${bytes} + #kept + #added`, ...log.numbers, 'kept', 'added']
  return {
    names: [...new Set([...step.state, ...log.names]), ...names],
    check: `
plain = #value >= ${head.length + 4 + bytes}
if plain then
  ${numbers}
  plain = head${n} == begin${n} and ${log.isUsual} and ${hasLength(`#value - ${size}`)}
end
if plain then
  ${rest}
  plain = ${none ? log.isPlain : `${log.isPlain} and ${isPlain(size)}`}
end
`,
    read: `${numbers}\n${rest}`,
    pack: `${log.pack}\nlocal text = ${packAfter(`${format}c0c0`, values)}`,
  }
}
