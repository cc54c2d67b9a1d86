import { header } from '../../src/algorithms/log-entries.ts'
import type { Policy } from '../../src/index.ts'
import { policyId } from '../../src/stores/redis/packed-plan.ts'

/** A state in a form that stores can compare. For a log: the last time, the id, and each entry's time and units. */
export type State = readonly (number | readonly [time: number, units: number])[]

/** The states in the packed value of a key (see lua/records.ts), by policy name; empty if there is no such key. */
export function unpackStates(value: Buffer | null, policies: readonly Policy[]): Record<string, State> {
  const states: Record<string, State> = {}
  if (value === null) return states
  for (let at = 0; at < value.length; ) {
    const form = value.readUInt8(at)
    const id = value.subarray(at + 2, at + 6)
    at += 6 + value.readUInt8(at + 1)
    const size = form < 254 ? form : value.readUInt32LE(at)
    if (form >= 254) at += 4
    const state = value.subarray(at, at + size)
    const policy = policies.find((each) => policyId(each).equals(id))
    if (policy) states[policy.name] = policy.algorithm.grows ? logOf(state, form) : numbersOf(state, policy.algorithm)
    at += size
  }
  return withoutNew(states)
}

/** Numbers that are left out at the end are 0. Steps and bookings follow. */
function numbersOf(state: Buffer, { kind, slots }: Policy['algorithm']): State {
  const fractions = kind.startsWith('smooth')
  const bytes = fractions ? 8 : 7
  return Array.from({ length: Math.max(slots, state.length / bytes) }, (_, n) => {
    if (n * bytes >= state.length) return 0
    return fractions ? state.readDoubleLE(n * bytes) : seven(state, n * bytes)
  })
}

function seven(state: Buffer, at: number): number {
  return state.readUIntLE(at, 4) + state.readIntLE(at + 4, 3) * 2 ** 32
}

/** An entry holds the lower bytes of its time and total: 6 and 3, or 7 and 7. An id stands before the entries. */
function logOf(state: Buffer, form: number): State {
  const [last, before, base] = [0, 7, 14].map((at) => seven(state, at)) as [number, number, number]
  const [time, total] = form === 254 ? [6, 3] : [7, 7]
  const hasId = (state.length - 21) % (time + total) === 7
  const numbers: number[] = []
  for (let at = hasId ? 28 : 21; at < state.length; at += time + total) {
    numbers.push(above(base, low(state, at, time), time), above(before, low(state, at + time, total), total))
  }
  return [last, hasId ? seven(state, 21) : 0, ...entriesOf(numbers, before)]
}

function low(state: Buffer, at: number, bytes: number): number {
  return bytes === 7 ? seven(state, at) : state.readUIntLE(at, bytes)
}

/** The smallest number from `least` on that ends with these bytes. */
function above(least: number, low: number, bytes: number): number {
  const range = BigInt(bytes === 7 ? 2 ** 53 : 256 ** bytes)
  return least + Number((((BigInt(low) - BigInt(least)) % range) + range) % range)
}

/** The states in a record (src/stores/records/key-record.ts), likewise. */
export function recordStates(text: string | undefined, policies: readonly Policy[]): Record<string, State> {
  if (text === undefined) return {}
  const [version, ...entries] = JSON.parse(text)
  if (version !== 1) throw new Error(`layout ${version}`)
  const states = new Map<Policy, number[]>()
  for (const [name, , , s] of entries) {
    const policy = policies.find((each) => each.name === name)
    if (policy) states.set(policy, s)
  }
  return plainStates(states)
}

/** The same of the reference store. */
export function plainStates(all: ReadonlyMap<Policy, number[]>): Record<string, State> {
  const states: Record<string, State> = {}
  for (const [policy, s] of all) {
    states[policy.name] = policy.algorithm.grows
      ? [s[0] as number, s[4] as number, ...entriesOf(entryNumbers(s), s[3] as number)]
      : s.slice()
  }
  return withoutNew(states)
}

function entryNumbers(s: readonly number[]): readonly number[] {
  return s.slice(header + 2 * (s[1] as number), header + 2 * (s[2] as number))
}

/** @param numbers time and total of each entry @param before the total before the first */
function entriesOf(numbers: readonly number[], before: number): State {
  const entries: [number, number][] = []
  for (let n = 0; n < numbers.length; n += 2) {
    entries.push([numbers[n] as number, (numbers[n + 1] as number) - before])
    before = numbers[n + 1] as number
  }
  return entries
}

/** A state of zeros is the state of a new key, written or not. */
function withoutNew(states: Record<string, State>): Record<string, State> {
  return Object.fromEntries(Object.entries(states).filter(([, state]) => state.some((number) => number !== 0)))
}
