import type { Policy } from '../algorithms/algorithm.ts'
import { type Details, Step, type Verb, type Weighing } from '../algorithms/step.ts'
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

/** The keys of one scope, and the row of the one that calls. */
class Scope {
  readonly #table: Table
  #weighings: readonly Weighing[]
  #row = blank

  constructor(weighings: readonly Weighing[], maxKeys: number) {
    this.#weighings = weighings
    this.#table = new Table(
      weighings.map(({ policy }) => policy),
      maxKeys,
    )
  }

  find(key: string): void {
    this.#row = this.#table.find(key)
    this.#table.point(this.#weighings, this.#row)
  }

  /** Gives the key a row if it has none, now that something will be written. */
  claim(key: string, now: number): void {
    if (this.#row !== blank) return
    this.#row = this.#table.claim(key, now)
    this.#table.point(this.#weighings, this.#row)
  }

  forget(key: string): void {
    this.#table.forget(key)
  }

  /** Goes on under the same policies with other limits. */
  retune(weighings: readonly Weighing[], now: number): void {
    this.#weighings = weighings
    this.#table.retune(
      weighings.map(({ policy }) => policy),
      now,
    )
  }

  /** Only where it is this scope that refuses: a key refused for the sake of another is nothing to hold on to. */
  noteRefused(): void {
    const refuses = this.#weighings.some(({ wait, policy }) => wait > 0 && !policy.shadow)
    if (refuses && this.#row !== blank) this.#table.noteRefused(this.#row)
  }
}

class MemoryLedger implements Ledger {
  readonly #clock: Clock
  readonly #names: readonly string[]
  readonly #scopes: readonly Scope[]
  #step: Step

  constructor({ policies, scopes }: LedgerTerms, maxKeys: number, clock: Clock) {
    this.#clock = clock
    this.#names = scopes
    this.#step = new Step(policies)
    this.#scopes = scopes.map((scope) => new Scope(this.#weighingsOf(scope), maxKeys))
  }

  #weighingsOf(scope: string): readonly Weighing[] {
    return this.#step.weighings.filter(({ policy }) => policy.scope === scope)
  }

  retune(policies: readonly Policy[]): void {
    const now = this.#clock()
    this.#step = new Step(policies)
    for (const [n, scope] of this.#scopes.entries()) scope.retune(this.#weighingsOf(this.#names[n] as string), now)
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    const now = this.#clock()
    this.#weigh(verb, now, keys, cost, 0)
    if (verb === 'refund') this.#step.refund(extras?.tickets)
    return this.#settle(now, keys, extras)
  }

  reserve(keys: readonly string[], cost: number, maxWait: number, details?: Details): Booking {
    const now = this.#clock()
    this.#weigh('reserve', now, keys, cost, maxWait)
    const decision = this.#settle(now, keys, details)
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    return { decision, wait: Math.ceil(this.#step.delay / 1000), tickets: this.#step.tickets() }
  }

  reset(keys: readonly string[]): void {
    for (const [n, scope] of this.#scopes.entries()) scope.forget(keys[n] as string)
  }

  #weigh(verb: Verb, now: number, keys: readonly string[], cost: number, maxWait: number): void {
    const scopes = this.#scopes
    for (let n = 0; n < scopes.length; n++) (scopes[n] as Scope).find(keys[n] as string)
    this.#step.weigh(verb, now, cost, maxWait)
  }

  #settle(now: number, keys: readonly string[], details?: Details): Decision {
    const scopes = this.#scopes
    if (this.#step.writes) for (let n = 0; n < scopes.length; n++) (scopes[n] as Scope).claim(keys[n] as string, now)
    const decision = this.#step.settle('store', details)
    if (!decision.allowed) for (const scope of scopes) scope.noteRefused()
    return decision
  }
}
