/*
 * A job is the calls on the same keys of one limiter that are carried out together. It reads the keys once, evaluates the
 * calls in their order, and saves once.
 */
import { Evaluation, type Tickets, unitsBack } from '../../algorithms/evaluation/index.ts'
import type { HeadgateError } from '../../common/index.ts'
import type { Decision } from '../../policy/index.ts'
import {
  type Booking,
  type Command,
  type PendingCall,
  runOn,
  type Scope,
  type ScopedEvaluation,
  type StateVerb,
} from '../contract/index.ts'

import { emptyRecord, KeyRecord, type SavedText } from './key-record.ts'

/** The outcome of a command on states. */
export type StateOutcome = Booking | Decision | undefined

/** What a call took: one ticket for each policy, undefined if it took nothing. */
interface Result {
  readonly outcome: StateOutcome
  readonly tickets: Tickets | undefined
}

/** One command that waits for its outcome. Its own keys do not matter: those of the job do. */
export interface RecordCall {
  readonly command: Command<StateVerb>
  /** The time of the call by this process's clock, in microseconds: for stores that do not report their own time. */
  readonly now: number
  readonly pending: PendingCall<StateOutcome>
  /** Gets the outcome if it comes after the call has timed out, with the tickets of what was taken. */
  readonly late: (outcome: StateOutcome, tickets: Tickets | undefined) => void
}

/** A record that has to be saved. */
export interface Write extends SavedText {
  /** Which of the job's keys. */
  readonly index: number
  /** The text that was read; undefined if there was none. */
  readonly before: string | undefined
}

export class Job {
  readonly scoped: ScopedEvaluation
  readonly keys: readonly string[]
  readonly #calls: RecordCall[] = []
  /** The result of each call, for when everything is saved; undefined for a call that is settled. */
  #results: (Result | undefined)[] = []

  constructor(scoped: ScopedEvaluation, keys: readonly string[]) {
    this.scoped = scoped
    this.keys = keys
  }

  add(call: RecordCall): void {
    this.#calls.push(call)
  }

  /** How many calls it is. */
  get size(): number {
    return this.#calls.length
  }

  /** The call if it is just one. */
  get only(): RecordCall | undefined {
    return this.#calls.length === 1 ? this.#calls[0] : undefined
  }

  /** True if no caller waits for a result any more. */
  get settled(): boolean {
    return this.#calls.every(({ pending }) => pending.settled)
  }

  /** From now on it is not known whether a call that gets no result has counted. @param may false if it is known again that none has */
  writes(may = true): void {
    for (const { pending } of this.#calls) pending.sent = may
  }

  /** True if no call can write. */
  get readOnly(): boolean {
    return this.#calls.every(({ command }) => command.verb === 'peek')
  }

  /**
   * Evaluates every call on what was read of the keys. Returns what has to be saved before `resolve` is called. If
   * saving fails, the job may run again on newer texts.
   * @param storeTime in microseconds; undefined for the time of each call
   * @param counted true if the store has counted the calls, also those that have timed out since
   */
  run(texts: readonly (string | undefined)[], storeTime: number | undefined, counted = false): Write[] {
    const records = texts.map((text) => new KeyRecord(text, this.#calls[0]?.command.verb === 'reset'))
    this.#results = this.#calls.map((call) => {
      return call.pending.settled && !counted ? undefined : this.#evaluate(call, records, storeTime ?? call.now)
    })
    const now = storeTime ?? this.#calls.at(-1)?.now ?? 0
    return records.flatMap((record, index) => {
      return record.changed ? [{ index, before: texts[index], ...record.save(now) }] : []
    })
  }

  #evaluate({ command }: RecordCall, records: readonly KeyRecord[], now: number): Result {
    const outcome = runOn(records, this.scoped, command, now)
    if (outcome !== undefined && 'tickets' in outcome) return { outcome, tickets: outcome.tickets }
    // A call on several keys may have to be withdrawn from one of them.
    const { evaluation } = this.scoped
    const withdrawable = outcome !== undefined && evaluation.takes && this.keys.length > 1
    return { outcome, tickets: withdrawable ? evaluation.tickets() : undefined }
  }

  /** Gives each caller its result. */
  resolve(): void {
    for (const [n, { pending, late }] of this.#calls.entries()) {
      const result = this.#results[n]
      if (!pending.settled) pending.resolve(result?.outcome)
      else if (result !== undefined) late(result.outcome, result.tickets)
    }
  }

  reject(error: HeadgateError): void {
    for (const { pending } of this.#calls) pending.reject(error)
  }

  /**
   * The text of a key without the units that this job took, for a key that others have written to since. Their calls
   * stay, and so do refused calls that were counted.
   */
  withdraw(index: number, text: string, now: number): SavedText {
    const { places, policies } = this.scoped.scopes[index] as Scope
    const record = new KeyRecord(text)
    const evaluation = new Evaluation(policies.map(({ policy }) => policy))
    for (const [n, result] of this.#results.entries()) {
      const all = result?.tickets
      if (all === undefined) continue
      const renewed = this.#calls[n]?.command.tickets // a renewal keeps the tickets of what it did not take
      const tickets = places.map((place) => (all[place] === renewed?.[place] ? undefined : all[place]))
      record.load(evaluation.policies, now, this.scoped.onChange)
      evaluation.evaluate('settle', now, unitsBack(tickets), 0, tickets)
      evaluation.giveBack()
      record.update(evaluation.policies, now)
    }
    return record.save(now)
  }
}

/** The text that is saved to a key that had none before. */
export const emptyText: SavedText = { text: emptyRecord, life: 0 }
