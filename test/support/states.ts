import { header } from '../../src/algorithms/logs/log-entries.ts'
import type { Policy } from '../../src/index.ts'
import { hashesOf } from '../../src/stores/redis/inspect/inspect-keys.ts'
import { unpackRecords } from '../../src/stores/redis/inspect/unpack-records.ts'

/** A state in a form that stores can compare. For a log: the last time, the id, and each entry's time and units. */
export type State = readonly (number | readonly [time: number, units: number])[]

/** The states in the packed value of a key, as this package decodes it, by policy name; empty if there is no such key. */
export function unpackStates(value: Buffer | null, policies: readonly Policy[]): Record<string, State> {
  if (value === null) return {}
  const { states } = unpackRecords(value, hashesOf(policies.map(({ name }) => name)))
  return plainStates(
    new Map(
      states.flatMap(({ name, s, definition }) => {
        const policy = policies.find((each) => each.name === name)
        if (policy === undefined) return []
        if (definition.kind !== policy.algorithm.kind) throw new Error(`decoded as ${definition.kind}`)
        return [[policy, [...s]] as [Policy, number[]]]
      }),
    ),
  )
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
