/*
 * A job is the calls on the same keys of one limiter that are carried out together. It reads the keys once, evaluates the
 * calls in their order, and saves once.
 */
import { Evaluation, type Tickets, type Verb } from '../../algorithms/evaluation.ts'
import type { HeadgateError } from '../../errors.ts'
import type { PendingCall } from '../deadlines.ts'
import type { Booking, DecideOptions } from '../store.ts'
import { emptyRecord, KeyRecord, type SavedText } from './key-record.ts'
import type { Scope, ScopedEvaluation } from './scoped-evaluation.ts'

/** One call of a ledger. */
export interface RecordCall {
  readonly verb: Verb | 'reset'
  readonly cost: number
  /** The time of the call by this process's clock, in microseconds: for stores that do not report their own time. */
  readonly now: number
  /** How long a reservation may wait, in microseconds. */
  readonly maxWait: number
  readonly options: DecideOptions | undefined
  readonly pending: PendingCall<Booking | undefined>
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
  /** The result of each call, for when everything is saved; undefined for a reset and for a call that is settled. */
  #results: (Booking | undefined)[] = []

  constructor(scoped: ScopedEvaluation, keys: readonly string[]) {
    this.scoped = scoped
    this.keys = keys
  }

  add(call: RecordCall): void {
    this.#calls.push(call)
  }

  /** True if no caller waits for a result any more. */
  get settled(): boolean {
    return this.#calls.every(({ pending }) => pending.settled)
  }

  /** True if no call can write. */
  get readOnly(): boolean {
    return this.#calls.every(({ verb }) => verb === 'peek')
  }

  /**
   * Evaluates every call on what was read of the keys. Returns what has to be saved before `resolve` is called. If
   * saving fails, the job may run again on newer texts.
   * @param storeTime in microseconds; undefined for the time of each call
   */
  run(texts: readonly (string | undefined)[], storeTime: number | undefined): Write[] {
    const records = texts.map((text) => new KeyRecord(text))
    this.#results = this.#calls.map((call) => {
      return call.pending.settled ? undefined : this.#evaluate(call, records, storeTime ?? call.now)
    })
    const now = storeTime ?? this.#calls.at(-1)?.now ?? 0
    return records.flatMap((record, index) => {
      return record.changed ? [{ index, before: texts[index], ...record.save(now) }] : []
    })
  }

  #evaluate(call: RecordCall, records: readonly KeyRecord[], now: number): Booking | undefined {
    const { verb, cost, maxWait, options } = call
    if (verb === 'reset') {
      for (const record of records) record.reset()
      return undefined
    }
    const { evaluation, scopes, onChange } = this.scoped
    for (const [n, { policies }] of scopes.entries()) records[n]?.load(policies, now, onChange)
    evaluation.evaluate(verb, now, cost, maxWait)
    if (verb === 'refund') evaluation.refund(options?.tickets)
    const decision = evaluation.commit('store', options)
    const takes = decision.allowed && verb !== 'peek' && verb !== 'refund'
    const tickets = takes ? evaluation.tickets() : undefined
    for (const [n, { policies }] of scopes.entries()) records[n]?.update(policies, now)
    const { delay } = evaluation
    return { decision, wait: Math.ceil(delay / 1000), delay, tickets }
  }

  /** Gives each caller its result. */
  resolve(): void {
    for (const [n, { pending }] of this.#calls.entries()) pending.resolve(this.#results[n])
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
    for (const [n, { cost }] of [...this.#calls.entries()].reverse()) {
      const tickets: Tickets | undefined = this.#results[n]?.tickets
      if (tickets === undefined) continue
      record.load(evaluation.policies, now, this.scoped.onChange)
      evaluation.evaluate('refund', now, cost, 0)
      evaluation.refund(places.map((place) => tickets[place]))
      record.update(evaluation.policies, now)
    }
    return record.save(now)
  }
}

/** The text that is saved to a key that had none before. */
export const emptyText: SavedText = { text: emptyRecord, life: 0 }
