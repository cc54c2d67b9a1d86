/* The states and the ban of one key in one scope. A command on these states is in run-on-states.ts. */

import { banAt, isPast, laterBan, newBan, type StoredBan } from '../../algorithms/bans/index.ts'
import { effectiveTime, type PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import {
  type Algorithm,
  type Definition,
  type Numbers,
  pointTo,
  revive,
  type StateRule,
} from '../../algorithms/index.ts'
import type { KeptState } from '../../inspection/index.ts'
import type { BanTerms } from './command.ts'

/** One state of a key: its numbers `s`, and the definition of the algorithm that wrote these numbers. */
export interface KeyState {
  readonly definition: Definition
  readonly s: number[]
}

/** The states and the ban of one key, for a store that has both in one object or record (stored text). */
export class KeyStates<State extends KeyState = KeyState> {
  /** The states, by the names of their policies. */
  readonly states: Map<string, State>
  /** The last ban that the verb `ban` set for the key. The ban may be over. Undefined if there is no ban. */
  storedBan: StoredBan | undefined
  /** True if a state or the ban has changed, so that the store has to save them. */
  changed = false

  constructor(states: Map<string, State> = new Map(), storedBan?: StoredBan) {
    this.states = states
    this.storedBan = storedBan
  }

  /**
   * Gives each policy its state. If the state was written under other limits, the policy gets a copy, which is converted to the
   * policy's present limits (algorithms/carry.ts).
   */
  load(policies: readonly PolicyEvaluation[], now: number, onChange: StateRule): void {
    for (const policy of policies) pointTo(policy, this.states.get(policy.policy.name), now, onChange)
  }

  /** Stores the states that the evaluation changed. A copy that `load` converted is stored only if the evaluation changed the copy. */
  update(policies: readonly PolicyEvaluation[], now: number): void {
    for (const { policy, algorithm, s, wrote, wroteForeign, foreign } of policies) {
      if (wrote) this.set(policy.name, algorithm, s, now)
      else if (wroteForeign && foreign !== undefined) this.set(policy.name, foreign.algorithm, foreign.s, now)
    }
  }

  protected set(name: string, algorithm: Algorithm, s: Numbers, now: number): void {
    this.states.set(name, this.stateOf(algorithm, s as number[], now))
    this.changed = true
  }

  protected stateOf({ kind, span, parameters }: Algorithm, s: number[], _now: number): State {
    return { definition: { kind, span, parameters }, s } as State
  }

  /** The ban of the key; undefined if there is no ban, or if the ban is over. @param writes false if the command must change nothing */
  banAt(now: number, writes: boolean): StoredBan | undefined {
    if (this.storedBan === undefined) return undefined
    const ban = banAt(this.storedBan, now)
    const kept = ban ?? (isPast(this.storedBan, now) ? undefined : this.storedBan)
    if (kept !== this.storedBan && writes) {
      this.storedBan = kept
      this.changed = true
    }
    return ban
  }

  ban(now: number, { duration, reason, extends: keeps = false }: BanTerms): void {
    const next = newBan(now, duration, reason)
    this.storedBan = keeps ? laterBan(this.banAt(now, true), next) : next
    this.changed = true
  }

  /** Ends the bans of the key: by the verb `ban`, and by penalties (automatic bans), also of other versions of the application. */
  unban(now: number): void {
    if (this.storedBan !== undefined) this.changed = true
    this.storedBan = undefined
    for (const [name, { definition, s }] of this.states) {
      const from = revive(definition)
      if (from?.unban === undefined) continue
      from.unban(s, 0, effectiveTime(from, s[0] as number, now))
      this.set(name, from, s, now)
    }
  }

  /** Gives the key its full quota under every policy, also under policies that only other versions of the application have. */
  reset(): void {
    this.states.clear()
    this.storedBan = undefined
    this.changed = true
  }

  /** Copies of the states, so that an inspection cannot change a state. */
  get kept(): KeptState[] {
    return [...this.states].map(([name, { definition, s }]) => ({ name, definition, s: s.slice() }))
  }
}
