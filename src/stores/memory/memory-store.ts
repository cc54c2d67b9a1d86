import type { Policy } from '../../algorithms/algorithm.ts'
import type { StateRule } from '../../algorithms/carry.ts'
import { type Details, Evaluation, type PolicyEvaluation, type Verb } from '../../algorithms/evaluation.ts'
import { type Clock, checkClock, monotonicClock } from '../../clock.ts'
import type { Decision } from '../../decision.ts'
import { HeadgateError, shown } from '../../errors.ts'
import { knownOptions, positiveInteger } from '../../options.ts'
import type { Booking, DecideExtras, DecideVerb, Ledger, LedgerTerms, Store } from '../store.ts'
import type { Capacity } from './capacity.ts'
import { randomSeed, type Seed } from './key-hash.ts'
import type { KeyTable } from './key-table.ts'
import { MultiPlanScope } from './multi-plan.ts'
import { MultiPlanRows } from './multi-plan-rows.ts'
import type { Scope } from './scope.ts'
import { SinglePlanScope } from './single-plan.ts'

export interface MemoryStoreOptions {
  /**
   * The most keys held for each scope of each limiter. Default 1,000,000, which is some 100 MB with a policy on
   * addresses when all of them are in use; memory is taken as keys come and given to others as they lapse.
   */
  maxKeys?: number
  /**
   * What becomes of a key that has to give way to another while it still counts. `'remember'` (default): its state is
   * kept in a table of fixed size and it goes on from there, so that nobody is let in more often than is due; far beyond
   * ten times `maxKeys` live keys some are refused for others. `'forget'`: it is like new when it comes back, which
   * admits many times the limit where more keys are live than there is room for.
   *
   * That table is made when it is first needed: for each scope of each limiter 12 * `maxKeys` places of 4 bytes and 8 for
   * each number of a state (28 a place with a bucket, 36 with a window), at most 64 MiB. Where policies vary (`under`) a
   * place that is in use takes some 200 bytes, at most 128 MiB. docs/memory.md has the figures.
   */
  onFull?: 'remember' | 'forget'
  /** Whole microseconds since the epoch. Default: a monotonic clock. */
  clock?: Clock
}

/** What a memory store holds, summed over the limiters that are in use. */
export interface MemoryStoreStats {
  /** Keys that are held now, each scope of each limiter by itself; never more than `maxKeys` of each. */
  readonly keys: number
  /** How often a key had to give way to another while it still counted. More than a few: `maxKeys` is too small. */
  readonly evictions: number
  /** Keys that are not held and whose state is remembered now, each in a place of its own. */
  readonly remembered: number
  /** How often a key found no place of its own and was merged with others. More than a few: some are refused for others. */
  readonly merged: number
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
  readonly #room: Capacity
  /** A limiter that nobody uses any more is let go, states and all. */
  readonly #ledgers = new Set<WeakRef<MemoryLedger>>()
  readonly #gone = new FinalizationRegistry<WeakRef<MemoryLedger>>((ledger) => this.#ledgers.delete(ledger))

  /** @param seed for tests: the same places in every run */
  constructor(options: MemoryStoreOptions, seed: Seed = randomSeed()) {
    knownOptions('memoryStore', options, ['maxKeys', 'onFull', 'clock'])
    const maxKeys = positiveInteger(options.maxKeys ?? 1_000_000, 'memoryStore: maxKeys', 'HEADGATE_OPTION')
    this.#clock = options.clock === undefined ? monotonicClock : checkClock(options.clock)
    this.#room = { maxKeys, seed: remembers(options.onFull ?? 'remember') ? seed : undefined }
  }

  open(terms: LedgerTerms): Ledger {
    const room = this.#room
    const ledger = new MemoryLedger(terms, room, this.#clock, (_, weighings) => new SinglePlanScope(weighings, room))
    const reference = new WeakRef(ledger)
    this.#ledgers.add(reference)
    this.#gone.register(ledger, reference)
    return ledger
  }

  /** Counts every key once: cheap enough for a gauge that is read each second. */
  stats(): MemoryStoreStats {
    const tables = Array.from(this.#ledgers, (ledger) => ledger.deref()?.tables ?? []).flat()
    const sum = (count: (table: KeyTable) => number) => tables.reduce((total, table) => total + count(table), 0)
    return {
      keys: sum(({ size }) => size),
      evictions: sum(({ evictions }) => evictions),
      remembered: sum(({ remembered }) => remembered),
      merged: sum(({ merged }) => merged),
    }
  }
}

function remembers(onFull: unknown): boolean {
  if (onFull === 'remember' || onFull === 'forget') return onFull === 'remember'
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `memoryStore: onFull must be 'remember' or 'forget', got ${shown(onFull)}. Leave it out to remember.`,
  )
}

/** Makes the part of a ledger that has the keys of one scope. */
type MakeScope = (scope: string, weighings: readonly PolicyEvaluation[]) => Scope

/** On the path of every call: why `private` and not `#` stands in CONTRIBUTING.md. */
class MemoryLedger implements Ledger {
  private readonly clock: Clock
  private readonly room: Capacity
  private readonly onChange: StateRule
  private readonly names: readonly string[]
  private scopes: readonly Scope[]
  /** Where there is one scope, as mostly, that one: it is not looped over. */
  private only: Scope | undefined
  private step: Evaluation
  /** Once policies vary, the keys of every scope for all of them. */
  private varied: Map<string, MultiPlanRows> | undefined

  constructor(
    { policies, scopes, onChange = 'keep' }: LedgerTerms,
    room: Capacity,
    clock: Clock,
    makeScope: MakeScope,
  ) {
    this.clock = clock
    this.onChange = onChange
    this.room = room
    this.names = scopes
    this.step = new Evaluation(policies)
    this.scopes = scopes.map((scope) => makeScope(scope, this.weighingsOf(scope)))
    this.only = onlyOf(this.scopes)
  }

  get tables(): KeyTable[] {
    return [...(this.varied?.values() ?? this.scopes)].map(({ table }) => table)
  }

  private weighingsOf(scope: string): readonly PolicyEvaluation[] {
    return this.step.policies.filter(({ policy }) => policy.scope === scope)
  }

  vary(terms: LedgerTerms): Ledger {
    const rows = this.varied ?? this.becomeVaried()
    const ledger = new MemoryLedger(terms, this.room, this.clock, (scope, weighings) => {
      const own = rows.get(scope) ?? new MultiPlanRows(this.room)
      rows.set(scope, own)
      return new MultiPlanScope(weighings, own, terms.onChange ?? 'keep')
    })
    ledger.varied = rows
    return ledger
  }

  private becomeVaried(): Map<string, MultiPlanRows> {
    const now = this.clock()
    const scopes = this.scopes.map((scope) => scope.varied(this.onChange, now))
    this.scopes = scopes
    this.only = onlyOf(scopes)
    this.varied = new Map(scopes.map((scope, n) => [this.names[n] as string, scope.rows]))
    return this.varied
  }

  retune(policies: readonly Policy[]): void {
    const now = this.clock()
    this.step = new Evaluation(policies)
    this.scopes = this.scopes.map((scope, n) => scope.retuned(this.weighingsOf(this.names[n] as string), now))
    this.only = onlyOf(this.scopes)
  }

  decide(verb: DecideVerb, keys: readonly string[], cost: number, extras?: DecideExtras): Decision {
    return this.run(verb, keys, cost, 0, extras)
  }

  reserve(keys: readonly string[], cost: number, maxWait: number, details?: Details): Booking {
    const decision = this.run('reserve', keys, cost, maxWait, details)
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    return { decision, wait: Math.ceil(this.step.delay / 1000), tickets: this.step.tickets() }
  }

  private run(verb: Verb, keys: readonly string[], cost: number, maxWait: number, extras?: DecideExtras): Decision {
    const { step, only } = this
    const now = this.clock()
    const found = only === undefined ? this.find(keys, now) : only.find(keys[0] as string, now)
    step.evaluate(verb, now, cost, maxWait)
    if (verb === 'refund') this.refund(keys, now, extras)
    if (!found) this.claim(keys, now)
    const decision = step.commit('store', extras)
    if (this.varied !== undefined) this.keep(now)
    if (!step.allowed) this.noteRefused()
    return decision
  }

  reset(keys: readonly string[]): void {
    const now = this.clock()
    for (const [n, scope] of this.scopes.entries()) scope.forget(keys[n] as string, now)
  }

  /** Points the step to what is known of the keys. Returns whether each has what a call would write to. */
  private find(keys: readonly string[], now: number): boolean {
    let found = true
    for (const [n, scope] of this.scopes.entries()) if (!scope.find(keys[n] as string, now)) found = false
    return found
  }

  private claim(keys: readonly string[], now: number): void {
    if (!this.step.writes) return
    for (const [n, scope] of this.scopes.entries()) scope.claim(keys[n] as string, now)
  }

  private refund(keys: readonly string[], now: number, extras?: DecideExtras): void {
    for (const [n, scope] of this.scopes.entries()) scope.claimKnown(keys[n] as string, now)
    this.step.refund(extras?.tickets)
  }

  private keep(now: number): void {
    for (const scope of this.scopes) scope.keep(now)
  }

  private noteRefused(): void {
    const { only } = this
    if (only === undefined) this.noteRefusals()
    else only.noteRefused()
  }

  private noteRefusals(): void {
    for (const scope of this.scopes) scope.noteRefused()
  }
}

function onlyOf(scopes: readonly Scope[]): Scope | undefined {
  return scopes.length === 1 ? scopes[0] : undefined
}
