/*
 * The states of one key in one scope, and how a command changes them. Stores with states in objects or records (stored texts) use this
 * file, so the steps of a decision are written only here:
 *
 *     1. Give each policy its state of the key (`load`).
 *     2. Let the evaluation decide. The evaluation changes the states.
 *     3. Store the states that were changed (`update`).
 *
 * No other command may change the keys between step 1 and step 3.
 */

import {
  banAt,
  isBannable,
  isPast,
  laterBan,
  longestBan,
  newBan,
  type StoredBan,
  withBan,
} from '../../algorithms/bans/index.ts'
import { effectiveTime, isFull, type PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import {
  type Algorithm,
  type Definition,
  type Numbers,
  pointTo,
  revive,
  type StateRule,
} from '../../algorithms/index.ts'
import { unsupported } from '../../common/index.ts'
import type { KeptState } from '../../inspection/index.ts'
import type { Decision } from '../../policy/index.ts'
import {
  type BanTerms,
  type Booking,
  bookingOf,
  type Command,
  elsewhere,
  type OutcomeOf,
  tooMany,
  type Verb,
} from './command.ts'
import type { ScopedEvaluation } from './scoped-evaluation.ts'

/** One state, and the definition of the algorithm that wrote it. */
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

  /** Stores the states that the evaluation changed. Copies that `load` converted are stored only if the evaluation changed the copies. */
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

  /** Ends the ban of the key, and bans by the option `penalty`, also by penalties that only other versions of the application have. */
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

/** The verbs that `runOn` can run. The other verbs need more than the states of some keys, so only the store itself can run them. */
export type StateVerb = Exclude<Verb, 'inspect' | 'scan' | 'clear'>

/**
 * Runs one command on the states of its keys.
 * @param keys the states of the key of each scope; undefined for a scope that stays unchanged
 * @param now the time in whole microseconds
 * @throws HeadgateError `HEADGATE_UNSUPPORTED` for a verb that only the store can run: `inspect`, `scan` and `clear`
 */
export function runOn<V extends Verb>(
  keys: readonly (KeyStates | undefined)[],
  evaluation: ScopedEvaluation,
  command: Command<V>,
  now: number,
): OutcomeOf<V> {
  const { verb } = command
  if (verb === 'inspect' || verb === 'scan' || verb === 'clear') throw unsupported(verb)
  return runState(keys, evaluation, command as unknown as Command<StateVerb>, now) as OutcomeOf<V>
}

function runState(
  keys: readonly (KeyStates | undefined)[],
  { evaluation, scopes, onChange }: ScopedEvaluation,
  command: Command<StateVerb>,
  now: number,
): Booking | Decision | undefined {
  const { verb, costs = 1, alternatives, maxWait = 0, expires, tickets, details, windows } = command
  if (verb === 'reset') {
    for (const key of keys) key?.reset()
    return undefined
  }
  if (!evaluation.place(windows, now)) return elsewhere(now)
  for (const [n, { policies }] of scopes.entries()) keys[n]?.load(policies, now, onChange)
  if (verb === 'ban' || verb === 'unban') {
    for (const key of keys) {
      if (verb === 'ban') key?.ban(now, command.ban as BanTerms)
      else key?.unban(now)
    }
    return undefined
  }
  // A command on a banned key is decided as a peek, which takes no units. The decision is then changed to a refusal.
  const banned = keys.some((key) => key?.storedBan !== undefined)
  const ban = banned ? longestBan(scopes, now, (_, n) => keys[n]?.banAt(now, verb !== 'peek')) : undefined
  const refused = ban !== undefined && isBannable(verb)
  const decides = refused ? 'peek' : verb
  if (alternatives === undefined) evaluation.evaluate(decides, now, costs, maxWait, tickets)
  else evaluation.evaluateFirst(decides, now, alternatives, maxWait)
  if (expires !== undefined && isFull(evaluation)) return elsewhere(tooMany)
  if (verb === 'refund' || verb === 'settle') evaluation.giveBack()
  const found = evaluation.commit('store', details)
  const decision = ban === undefined ? found : withBan(found, ban, refused)
  const reserves = verb === 'reserve' || verb === 'renew'
  const outcome = reserves ? bookingOf(decision, evaluation.delay, () => evaluation.tickets(expires)) : decision
  for (const [n, { policies }] of scopes.entries()) keys[n]?.update(policies, now)
  return outcome
}
