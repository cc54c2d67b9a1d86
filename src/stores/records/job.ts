/*
 * A job is the calls on the same keys of one limiter that are carried out together. It reads the keys once, evaluates the
 * calls in their order, and saves once.
 */
import { type CallBlock, callBlock, isBlockable, longerBlock, withBlock } from '../../algorithms/block.ts'
import { type Costs, Evaluation, unitsBack, type Verb } from '../../algorithms/evaluation.ts'
import { newReservationId } from '../../algorithms/reservation-id.ts'
import type { HeadgateError } from '../../errors.ts'
import type { PendingCall } from '../deadlines.ts'
import type { Booking, DecideOptions } from '../store.ts'
import { emptyRecord, KeyRecord, type SavedText } from './key-record.ts'
import type { Scope, ScopedEvaluation } from './scoped-evaluation.ts'

/** What `block` does to a key. */
interface BlockTerms {
  /** In microseconds. */
  readonly duration: number
  readonly reason: string | undefined
}

/** One call of a ledger. */
export interface RecordCall {
  readonly verb: Verb | 'reset' | 'block' | 'unblock'
  /** For `block`. */
  readonly block?: BlockTerms
  readonly costs: Costs
  /** The time of the call by this process's clock, in microseconds: for stores that do not report their own time. */
  readonly now: number
  /** How long a reservation may wait, in microseconds. */
  readonly maxWait: number
  readonly options: DecideOptions | undefined
  readonly pending: PendingCall<Booking | undefined>
  /** Gets the result if it comes after the call has timed out. */
  readonly late: (booking: Booking) => void
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
    return this.#calls.every(({ verb }) => verb === 'peek')
  }

  /**
   * Evaluates every call on what was read of the keys. Returns what has to be saved before `resolve` is called. If
   * saving fails, the job may run again on newer texts.
   * @param storeTime in microseconds; undefined for the time of each call
   * @param counted true if the store has counted the calls, also those that have timed out since
   */
  run(texts: readonly (string | undefined)[], storeTime: number | undefined, counted = false): Write[] {
    const records = texts.map((text) => new KeyRecord(text, this.#calls[0]?.verb === 'reset'))
    this.#results = this.#calls.map((call) => {
      return call.pending.settled && !counted ? undefined : this.#evaluate(call, records, storeTime ?? call.now)
    })
    const now = storeTime ?? this.#calls.at(-1)?.now ?? 0
    return records.flatMap((record, index) => {
      return record.changed ? [{ index, before: texts[index], ...record.save(now) }] : []
    })
  }

  #evaluate(call: RecordCall, records: readonly KeyRecord[], now: number): Booking | undefined {
    const { verb, costs, maxWait, options } = call
    if (verb === 'reset') {
      for (const record of records) record.reset()
      return undefined
    }
    const { evaluation, scopes, onChange } = this.scoped
    for (const [n, { policies }] of scopes.entries()) records[n]?.load(policies, now, onChange)
    if (verb === 'block' || verb === 'unblock') {
      changeBlock(records, call, now)
      return undefined
    }
    const block = this.#blockOf(records, now, verb !== 'peek')
    const refused = block !== undefined && isBlockable(verb)
    evaluation.evaluate(refused ? 'peek' : verb, now, costs, maxWait, options?.tickets)
    if (verb === 'refund' || verb === 'settle') evaluation.giveBack()
    const found = evaluation.commit('store', options)
    const decision = block === undefined ? found : withBlock(found, block, refused)
    // A call on several keys may have to be withdrawn from one of them.
    const settled = verb === 'reserve' || verb === 'renew' || this.keys.length > 1
    const tickets = evaluation.takes && settled ? evaluation.tickets(newReservationId()) : undefined
    for (const [n, { policies }] of scopes.entries()) records[n]?.update(policies, now)
    const { delay } = evaluation
    return { decision, wait: Math.ceil(delay / 1000), delay, tickets }
  }

  /** The longest block of the keys. */
  #blockOf(records: readonly KeyRecord[], now: number, writes: boolean): CallBlock | undefined {
    let longest: CallBlock | undefined
    for (const [n, { name }] of this.scoped.scopes.entries()) {
      const block = records[n]?.blockAt(now, writes)
      if (block !== undefined) longest = longerBlock(longest, callBlock(name, block, now))
    }
    return longest
  }

  /** Gives each caller its result. */
  resolve(): void {
    for (const [n, { pending, late }] of this.#calls.entries()) {
      const result = this.#results[n]
      if (!pending.settled) pending.resolve(result)
      else if (result !== undefined) late(result)
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
    for (const [n, booking] of this.#results.entries()) {
      const { tickets: all } = booking ?? {}
      if (all === undefined) continue
      const renewed = this.#calls[n]?.options?.tickets // a renewal keeps the tickets of what it did not take
      const tickets = places.map((place) => (all[place] === renewed?.[place] ? undefined : all[place]))
      record.load(evaluation.policies, now, this.scoped.onChange)
      evaluation.evaluate('settle', now, unitsBack(tickets), 0, tickets)
      evaluation.giveBack()
      record.update(evaluation.policies, now)
    }
    return record.save(now)
  }
}

function changeBlock(records: readonly KeyRecord[], { block }: RecordCall, now: number): void {
  for (const record of records) {
    if (block === undefined) record.unblock(now)
    else record.block(now, block.duration, block.reason)
  }
}

/** The text that is saved to a key that had none before. */
export const emptyText: SavedText = { text: emptyRecord, life: 0 }
