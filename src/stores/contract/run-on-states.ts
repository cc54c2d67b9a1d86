/*
 * Runs a command on the states of its keys. Stores with states in objects or records (stored texts) use this file. So the steps of a
 * decision are written only here:
 *
 *     1. Give each policy its state of the key (`load`).
 *     2. Let the evaluation decide. The evaluation changes the states.
 *     3. Store the states that were changed (`update`).
 *
 * No other command may change the keys between step 1 and step 3.
 */
import { isBannable, longestBan, withBan } from '../../algorithms/bans/index.ts'
import { Evaluation, isFull, type PolicyEvaluation } from '../../algorithms/evaluation/index.ts'
import type { StateRule } from '../../algorithms/index.ts'
import { unsupported } from '../../common/index.ts'
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
import type { KeyStates } from './key-states.ts'
import type { LedgerTerms } from './store.ts'

/** The policies of one scope (kind of key) in an evaluation. The states of these policies are in one record (stored entry). */
export interface EvaluationScope {
  readonly name: string
  readonly policies: readonly PolicyEvaluation[]
  /** The index of each policy of this scope (kind of key) in the list of all policies. */
  readonly places: readonly number[]
}

/** An evaluation with its policies grouped by scope, because a store keeps the states of each scope in a separate record (entry). */
export class ScopedEvaluation {
  readonly onChange: StateRule
  readonly evaluation: Evaluation
  readonly scopes: readonly EvaluationScope[]

  constructor({ policies, scopes, onChange = 'keep' }: LedgerTerms) {
    this.onChange = onChange
    this.evaluation = new Evaluation(policies)
    this.scopes = scopes.map((scope) => {
      const places = [...policies.keys()].filter((n) => policies[n]?.scope === scope)
      return { name: scope, places, policies: places.map((n) => this.evaluation.policies[n] as PolicyEvaluation) }
    })
  }
}

/** The verbs that `runOnStates` can run. The other verbs need more than the states of some keys, so only the store itself can run them. */
export type StateVerb = Exclude<Verb, 'inspect' | 'scan' | 'clear'>

/**
 * Runs one command on the states of its keys.
 * @param keys the states of the key of each scope; undefined for a scope that stays unchanged
 * @param now the time in whole microseconds
 * @throws HeadgateError `HEADGATE_UNSUPPORTED` for a verb that only the store can run: `inspect`, `scan` and `clear`
 */
export function runOnStates<V extends Verb>(
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
  const { verb, costs = 1, alternatives, maxWait = 0, expires, tickets, unreserved, details, windows } = command
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
  // If a key is banned, `consume` and `reserve` are decided as a peek, which takes no units. The decision is then changed to a refusal.
  const banned = keys.some((key) => key?.storedBan !== undefined)
  const ban = banned ? longestBan(scopes, now, (_, n) => keys[n]?.banAt(now, verb !== 'peek')) : undefined
  const refused = ban !== undefined && isBannable(verb)
  const decides = refused ? 'peek' : verb
  if (alternatives === undefined) evaluation.evaluate(decides, now, costs, maxWait, tickets)
  else evaluation.evaluateFirst(decides, now, alternatives, maxWait)
  if (expires !== undefined && isFull(evaluation)) return elsewhere(tooMany)
  if (verb === 'refund' || verb === 'settle') evaluation.giveBack(unreserved)
  const found = evaluation.commit('store', details)
  const decision = ban === undefined ? found : withBan(found, ban, refused)
  const reserves = verb === 'reserve' || verb === 'renew'
  const outcome = reserves ? bookingOf(decision, evaluation.delay, () => evaluation.tickets(expires)) : decision
  for (const [n, { policies }] of scopes.entries()) keys[n]?.update(policies, now)
  return outcome
}
