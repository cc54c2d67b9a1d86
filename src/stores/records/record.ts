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
import { type Algorithm, type Numbers, Report } from '../../algorithms/algorithm.ts'
import { carry, hasFullQuota, type StateRule } from '../../algorithms/carry.ts'
import { effectiveTime, type PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { type Definition, revive, sameDefinition } from '../../algorithms/revive.ts'
import { HeadgateError, shown } from '../../errors.ts'

const version = 1

type Packed = readonly [kind: string, span: number, ...parameters: number[]]
type Entry = readonly [name: string, definition: Packed, until: number, state: number[]]

/** One state, and the numbers it was written under. */
interface Kept {
  readonly definition: Definition
  /** When it is like new, in microseconds since the epoch. */
  readonly until: number
  readonly s: number[]
}

/** The text of a key that was reset: like new to everybody. */
export const emptyRecord: string = JSON.stringify([version])

const report = new Report()

export class KeyRecord {
  /** By the policy's name. */
  readonly #kept: Map<string, Kept>
  readonly #found: boolean
  /** The names of the policies that have been used together with one that was written. */
  readonly #used = new Set<string>()
  /** Whether there is anything to be saved. */
  changed = false

  /**
   * @param text what the store has of the key; undefined for nothing
   * @throws HeadgateError `HEADGATE_STORE` if it is no text of this version
   */
  constructor(text: string | undefined) {
    this.#found = text !== undefined
    this.#kept = new Map(text === undefined ? [] : parse(text).map(keptOf))
  }

  /** Points each weighing to its state, carried over where its numbers are others than those it was written under. */
  point(weighings: readonly PolicyEvaluation[], now: number, onChange: StateRule): void {
    for (const weighing of weighings) this.#point(weighing, now, onChange)
  }

  #point(weighing: PolicyEvaluation, now: number, onChange: StateRule): void {
    const { policy, algorithm } = weighing
    const kept = this.#kept.get(policy.name)
    const same = kept !== undefined && sameDefinition(kept.definition, algorithm)
    const from = kept && !same ? revive(kept.definition) : undefined
    weighing.carried = false
    if (same) weighing.s = kept.s
    else if (kept === undefined || from === undefined) weighing.s = new Array(algorithm.slots).fill(0)
    else {
      weighing.s = carry(kept.s.slice(), from, algorithm, now, onChange)
      weighing.carried = onChange !== 'retune' && !hasFullQuota(kept.s, 0, from, now)
    }
  }

  /** Keeps the states that the step has written: of others, what was carried over was so for this call alone. */
  keep(weighings: readonly PolicyEvaluation[], now: number): void {
    if (!weighings.some(({ wrote }) => wrote)) return
    this.changed = true
    for (const { policy, algorithm, s, wrote } of weighings) {
      this.#used.add(policy.name)
      if (!wrote) continue
      this.#kept.set(policy.name, { definition: algorithm, until: likeNewAt(algorithm, s, now), s: s as number[] })
    }
  }

  /** Makes the key like new, to others too. */
  reset(): void {
    this.#kept.clear()
    this.changed = this.#found
  }

  /** The text to save, and how many microseconds from now on it tells more than no text would. */
  save(now: number): { text: string; life: number } {
    const entries: Entry[] = []
    let latest = now
    for (const [name, { definition, until, s }] of this.#kept) {
      if (until <= now && !this.#used.has(name)) continue
      const { kind, span, parameters } = definition
      entries.push([name, [kind, span, ...parameters], until, s])
      latest = Math.max(latest, until)
    }
    return { text: JSON.stringify([version, ...entries]), life: latest - now }
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

function keptOf([name, [kind, span, ...parameters], until, s]: Entry): [name: string, kept: Kept] {
  return [name, { definition: { kind, span, parameters }, until, s }]
}

function likeNewAt(algorithm: Algorithm, s: Numbers, now: number): number {
  const at = effectiveTime(algorithm, s[0] as number, now)
  algorithm.report(s, 0, at, report)
  return at + report.reset
}
