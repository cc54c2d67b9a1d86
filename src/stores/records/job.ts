/*
 * Calls on the same keys of one limiter, carried out together: one reading, all steps in their order, one saving.
 */
import type { StateRule } from '../../algorithms/carry.ts'
import { Evaluation, type PolicyEvaluation, type Tickets, type Verb } from '../../algorithms/evaluation.ts'
import type { HeadgateError } from '../../errors.ts'
import type { Booking, DecideExtras, LedgerTerms } from '../store.ts'
import type { Pending } from './pending.ts'
import { emptyRecord, KeyRecord } from './record.ts'

/** One question of a ledger. */
export interface Call {
  readonly verb: Verb | 'reset'
  readonly cost: number
  /** When it was asked by this process's clock, in microseconds: for stores that tell no time. */
  readonly now: number
  /** Of a reservation, in microseconds. */
  readonly maxWait: number
  readonly extras: DecideExtras | undefined
  readonly pending: Pending<Booking | undefined>
}

/** A record that has to be saved. */
export interface Write {
  /** Which of the job's keys. */
  readonly index: number
  /** What was read; undefined for nothing. */
  readonly before: string | undefined
  readonly text: string
  /** How many microseconds it tells more than no text would. */
  readonly life: number
}

/** A limiter's policies by the keys of a call. */
export class Terms {
  readonly onChange: StateRule
  readonly step: Evaluation
  /** For each scope, its part of the step, and where its policies stand in it. */
  readonly scopes: readonly { readonly weighings: readonly PolicyEvaluation[]; readonly places: readonly number[] }[]

  constructor({ policies, scopes, onChange = 'keep' }: LedgerTerms) {
    this.onChange = onChange
    this.step = new Evaluation(policies)
    this.scopes = scopes.map((scope) => {
      const places = [...policies.keys()].filter((n) => policies[n]?.scope === scope)
      return { places, weighings: places.map((n) => this.step.policies[n] as PolicyEvaluation) }
    })
  }
}

export class Job {
  readonly terms: Terms
  readonly keys: readonly string[]
  readonly #calls: Call[] = []
  /** What the calls are told once everything is saved; undefined for a reset, and for those that are over. */
  #answers: (Booking | undefined)[] = []

  constructor(terms: Terms, keys: readonly string[]) {
    this.terms = terms
    this.keys = keys
  }

  add(call: Call): void {
    this.#calls.push(call)
  }

  /** Whether nobody waits for an answer any more. */
  get over(): boolean {
    return this.#calls.every(({ pending }) => pending.over)
  }

  /** Whether no call can write. */
  get peeks(): boolean {
    return this.#calls.every(({ verb }) => verb === 'peek')
  }

  /**
   * Makes every step on what was read of the keys, and says what has to be saved before `answer`. Where that fails it
   * may run again, on what is there then.
   * @param told the store's time in microseconds; undefined for the time of each call
   */
  run(texts: readonly (string | undefined)[], told: number | undefined): Write[] {
    const records = texts.map((text) => new KeyRecord(text))
    this.#answers = this.#calls.map((call) => {
      return call.pending.over ? undefined : this.#decide(call, records, told ?? call.now)
    })
    const now = told ?? this.#calls.at(-1)?.now ?? 0
    return records.flatMap((record, index) => {
      return record.changed ? [{ index, before: texts[index], ...record.save(now) }] : []
    })
  }

  #decide(call: Call, records: readonly KeyRecord[], now: number): Booking | undefined {
    const { verb, cost, maxWait, extras } = call
    if (verb === 'reset') {
      for (const record of records) record.reset()
      return undefined
    }
    const { step, scopes, onChange } = this.terms
    for (const [n, { weighings }] of scopes.entries()) records[n]?.point(weighings, now, onChange)
    step.evaluate(verb, now, cost, maxWait)
    if (verb === 'refund') step.refund(extras?.tickets)
    const decision = step.commit('store', extras)
    const takes = decision.allowed && verb !== 'peek' && verb !== 'refund'
    const tickets = takes ? step.tickets() : undefined
    for (const [n, { weighings }] of scopes.entries()) records[n]?.keep(weighings, now)
    return { decision, wait: Math.ceil(step.delay / 1000), tickets }
  }

  answer(): void {
    for (const [n, { pending }] of this.#calls.entries()) pending.answer(this.#answers[n])
  }

  fail(error: HeadgateError): void {
    for (const { pending } of this.#calls) pending.fail(error)
  }

  /**
   * The text of one key without what this job took, of one that others have written to since: their calls stay. What was
   * counted of a refused call stays too.
   */
  withdrawn(index: number, text: string, now: number): { text: string; life: number } {
    const { places, weighings } = this.terms.scopes[index] as Terms['scopes'][number]
    const record = new KeyRecord(text)
    const step = new Evaluation(weighings.map(({ policy }) => policy))
    for (const [n, { cost }] of [...this.#calls.entries()].reverse()) {
      const tickets: Tickets | undefined = this.#answers[n]?.tickets
      if (tickets === undefined) continue
      record.point(step.policies, now, this.terms.onChange)
      step.evaluate('refund', now, cost, 0)
      step.refund(places.map((place) => tickets[place]))
      record.keep(step.policies, now)
    }
    return record.save(now)
  }
}

/** What is saved of a key that had nothing. */
export const nothing: { text: string; life: number } = { text: emptyRecord, life: 0 }
