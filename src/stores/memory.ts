import type { Policy } from '../algorithms/algorithm.ts'
import { Step, type Weighing } from '../algorithms/step.ts'
import { type Clock, checkClock, monotonicClock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import { knownOptions, positiveInteger } from '../policy.ts'
import type { Booking, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from './store.ts'
import { blank, Table } from './table.ts'

export interface MemoryStoreOptions {
  /**
   * The most keys held for each scope of each limiter. Default 1,000,000, which is some 100 MB with a policy on
   * addresses when all of them are in use; memory is taken as keys come and given to others as they lapse.
   */
  maxKeys?: number
  /** Whole microseconds since the epoch. Default: a monotonic clock. */
  clock?: Clock
}

/**
 * States in this process's memory: synchronous, bounded, no timer.
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK`
 */
export function memoryStore(options: MemoryStoreOptions = {}): MemoryStore {
  return new MemoryStore(options)
}

export class MemoryStore implements Store {
  readonly synchronous = true
  readonly #clock: Clock
  readonly #maxKeys: number

  constructor(options: MemoryStoreOptions) {
    knownOptions('memoryStore', options, ['maxKeys', 'clock'])
    this.#maxKeys = positiveInteger(options.maxKeys ?? 1_000_000, 'memoryStore: maxKeys', 'HEADGATE_OPTION')
    this.#clock = options.clock === undefined ? monotonicClock : checkClock(options.clock)
  }

  open(terms: LedgerTerms): Ledger {
    return new MemoryLedger(terms, this.#maxKeys, this.#clock)
  }
}

class MemoryLedger implements Ledger {
  readonly #clock: Clock
  #step: Step
  readonly #tables: readonly Table[]
  /** The row of each scope's key in the call at hand. */
  readonly #rows: number[]
  /** The weighings of each scope's policies. */
  #weighings: readonly (readonly Weighing[])[]
  readonly #scopes: readonly string[]

  constructor({ policies, scopes }: LedgerTerms, maxKeys: number, clock: Clock) {
    this.#clock = clock
    this.#scopes = scopes
    this.#step = new Step(policies)
    this.#weighings = this.#byScope()
    this.#tables = this.#weighings.map(
      (own) =>
        new Table(
          own.map(({ policy }) => policy),
          maxKeys,
        ),
    )
    this.#rows = scopes.map(() => blank)
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const now = this.#clock()
    this.#find(keys)
    this.#step.weigh(verb, now, cost, 0)
    if (verb === 'refund') this.#step.refund(extras?.tickets)
    return this.#finish(keys, now, extras?.detailed === true)
  }

  reserve(keys: readonly string[], cost: number, maxWait: number): Booking {
    const now = this.#clock()
    this.#find(keys)
    this.#step.weigh('reserve', now, cost, maxWait)
    const decision = this.#finish(keys, now, false)
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    return { decision, wait: Math.ceil(this.#step.delay / 1000), tickets: this.#step.tickets() }
  }

  reset(keys: readonly string[]): void {
    for (const [scope, table] of this.#tables.entries()) table.forget(keys[scope] as string)
  }

  retune(policies: readonly Policy[]): void {
    const now = this.#clock()
    this.#step = new Step(policies)
    this.#weighings = this.#byScope()
    for (const [scope, own] of this.#weighings.entries()) {
      const table = this.#tables[scope] as Table
      table.retune(
        own.map(({ policy }) => policy),
        now,
      )
    }
  }

  #byScope(): readonly (readonly Weighing[])[] {
    return this.#scopes.map((scope) => this.#step.weighings.filter(({ policy }) => policy.scope === scope))
  }

  #find(keys: readonly string[]): void {
    for (let scope = 0; scope < this.#tables.length; scope++) {
      const table = this.#tables[scope] as Table
      const row = table.find(keys[scope] as string)
      this.#rows[scope] = row
      table.point(this.#weighings[scope] as readonly Weighing[], row)
    }
  }

  #finish(keys: readonly string[], now: number, detailed: boolean): Decision {
    if (this.#step.writes) this.#claim(keys, now)
    const decision = this.#step.settle('store', detailed)
    if (!decision.allowed) this.#noteRefused()
    return decision
  }

  /** Gives rows to the keys that have none, now that something will be written. */
  #claim(keys: readonly string[], now: number): void {
    for (let scope = 0; scope < this.#tables.length; scope++) {
      if (this.#rows[scope] !== blank) continue
      const table = this.#tables[scope] as Table
      const row = table.claim(keys[scope] as string, now)
      this.#rows[scope] = row
      table.point(this.#weighings[scope] as readonly Weighing[], row)
    }
  }

  #noteRefused(): void {
    for (let scope = 0; scope < this.#tables.length; scope++) {
      const row = this.#rows[scope] as number
      if (row !== blank) (this.#tables[scope] as Table).noteRefused(row)
    }
  }
}
