import type { Policy } from '../../src/index.ts'
import { policyId } from '../../src/stores/redis/terms.ts'

/** A state as two stores can compare it: of a log, the last time and what each entry holds. */
export type State = readonly (number | readonly [time: number, units: number])[]

/** The states in the packed value of a key (see lua/states.ts), by policy name; none for a key that is not there. */
export function unpackStates(value: Buffer | null, policies: readonly Policy[]): Record<string, State> {
  const states: Record<string, State> = {}
  if (value === null) return states
  if (value[0] !== 2) throw new Error(`layout ${value[0]}`)
  for (let at = 1; at < value.length; ) {
    const id = value.subarray(at, at + 6)
    at += 7 + value.readUInt8(at + 6)
    const length = value.readUInt32LE(at)
    const policy = policies.find((each) => policyId(each).equals(id))
    const numbers: number[] = []
    for (let n = 0; n < length - 8; n += 8) numbers.push(value.readDoubleLE(at + 4 + n))
    if (policy) states[policy.name] = policy.algorithm.grows ? entriesOf(numbers, 2, 1) : numbers
    at += 4 + length
  }
  return withoutNew(states)
}

/** The states in a record (src/stores/records/record.ts), likewise. */
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

/** The states of the reference, likewise. */
export function plainStates(all: ReadonlyMap<Policy, number[]>): Record<string, State> {
  const states: Record<string, State> = {}
  for (const [policy, s] of all) {
    states[policy.name] = policy.algorithm.grows
      ? entriesOf([s[0] as number, ...s.slice(4 + 2 * (s[1] as number), 4 + 2 * (s[2] as number))], 1, undefined, s[3])
      : s.slice()
  }
  return withoutNew(states)
}

function entriesOf(numbers: readonly number[], first: number, before?: number, total = numbers[before ?? 0]): State {
  const entries: [number, number][] = []
  let sum = total as number
  for (let n = first; n < numbers.length; n += 2) {
    entries.push([numbers[n] as number, (numbers[n + 1] as number) - sum])
    sum = numbers[n + 1] as number
  }
  return [numbers[0] as number, ...entries]
}

/** A state of zeros is that of a new key, written or not. */
function withoutNew(states: Record<string, State>): Record<string, State> {
  return Object.fromEntries(Object.entries(states).filter(([, state]) => state.some((number) => number !== 0)))
}
