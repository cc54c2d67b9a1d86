/*
 * What a store keeps of one key: a text with the state of each policy by its name.
 *
 *     [1, ["15m", ["slidingWindow", 900000000, 100], 1767225900000000, [1767225600000000, ...]], ...]
 *      |    name    kind, span, parameters           like new at (us)    state
 *      version
 *
 * A policy whose numbers have changed since takes over the state it left. A policy of another name, of another deploy
 * that runs beside this one, is kept as it is until it is like new.
 */
import { type Algorithm, type Numbers, type Policy, Report } from '../../algorithms/algorithm.ts'
import { carry } from '../../algorithms/carry.ts'
import { revive, sameDefinition } from '../../algorithms/revive.ts'
import { standing } from '../../algorithms/step.ts'
import { HeadgateError, shown } from '../../errors.ts'

const version = 1

type Packed = readonly [kind: string, span: number, ...parameters: number[]]
type Entry = readonly [name: string, definition: Packed, until: number, state: readonly number[]]

/** The text of a key that was reset: like new to everybody. */
export const emptyRecord: string = JSON.stringify([version])

const report = new Report()

export class KeyRecord {
  /** One for each policy, all zeros if new. */
  readonly states: number[][]
  readonly #policies: readonly Policy[]
  #others: readonly Entry[]
  readonly #found: boolean
  /** The states as they were read. */
  #read: string

  /**
   * @param text what the store has of the key; undefined for nothing
   * @throws HeadgateError `HEADGATE_STORE` if it is no text of this version
   */
  constructor(text: string | undefined, policies: readonly Policy[], now: number) {
    const entries = text === undefined ? [] : parse(text)
    this.#found = text !== undefined
    this.#policies = policies
    this.states = policies.map((policy) => stateOf(policy, entries, now))
    this.#others = entries.filter(([name]) => policies.every((policy) => policy.name !== name))
    this.#read = JSON.stringify(this.states)
  }

  /** Whether there is anything to be saved. */
  get changed(): boolean {
    return JSON.stringify(this.states) !== this.#read
  }

  /** Makes the key like new, to others too. */
  reset(): void {
    for (const [n, { algorithm }] of this.#policies.entries()) this.states[n] = zeros(algorithm.slots)
    this.#others = []
    if (this.#found) this.#read = '' // to be saved, also if it was only of others
  }

  /** The text to save, and how many microseconds from now on it tells more than no text would. */
  save(now: number): { text: string; life: number } {
    const entries = this.#others.filter(([, , until]) => until > now)
    for (const [n, { name, algorithm }] of this.#policies.entries()) {
      const { kind, span, parameters } = algorithm
      const state = this.states[n] as number[]
      if (state.some((number) => number !== 0)) {
        entries.push([name, [kind, span, ...parameters], likeNewAt(algorithm, state, now), state])
      }
    }
    const until = entries.reduce((latest, [, , each]) => Math.max(latest, each), now)
    return { text: JSON.stringify([version, ...entries]), life: until - now }
  }
}

function parse(text: string): readonly Entry[] {
  try {
    const [found, ...entries] = JSON.parse(text) as [number, ...Entry[]]
    if (found === version && entries.every(([, , until, state]) => until >= 0 && Array.isArray(state))) return entries
  } catch {}
  throw new HeadgateError(
    'HEADGATE_STORE',
    `The store has something under this key that is no record of this version: ${shown(text)}. ` +
      'Choose another prefix, or delete what is there.',
  )
}

/** What the key has used goes with the policy when its numbers change. */
function stateOf({ name, algorithm }: Policy, entries: readonly Entry[], now: number): number[] {
  const entry = entries.find(([each]) => each === name)
  if (entry === undefined) return zeros(algorithm.slots)
  const [, [kind, span, ...parameters], , state] = entry
  const definition = { kind, span, parameters }
  if (sameDefinition(definition, algorithm)) return state.slice()
  const from = revive(definition)
  return from === undefined ? zeros(algorithm.slots) : carry(state.slice(), from, algorithm, now, 'keep')
}

function likeNewAt(algorithm: Algorithm, state: Numbers, now: number): number {
  const at = standing(algorithm, state[0] as number, now)
  algorithm.report(state, 0, at, report)
  return at + report.reset
}

function zeros(slots: number): number[] {
  return new Array<number>(slots).fill(0)
}
