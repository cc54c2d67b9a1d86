import type { Policy } from '../../algorithms/algorithm.ts'
import { isBlockable, withBlock } from '../../algorithms/block.ts'
import type { StateRule } from '../../algorithms/carry.ts'
import { type Costs, Evaluation, type PolicyEvaluation, type Verb } from '../../algorithms/evaluation.ts'
import { newReservationId } from '../../algorithms/reservation-id.ts'
import type { Clock } from '../../clock.ts'
import type { Decision } from '../../decision.ts'
import type { KeptKey, KeyPage } from '../../inspection/kept-key.ts'
import { Blocks } from '../blocks.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions } from '../store.ts'
import { keptKey, keptPage, type ScopeBlocks } from './kept-keys.ts'
import type { Capacity, KeyTable } from './key-table.ts'
import { MultiPlanScope, multiPlanTable } from './multi-plan-scope.ts'
import type { MultiPlanStates } from './multi-plan-states.ts'
import type { Scope } from './scope.ts'
import { SinglePlanScope } from './single-plan-scope.ts'

/** By scope, the keys that several plans share. */
type SharedTables = Map<string, KeyTable<MultiPlanStates>>

/** Every request takes this path: CONTRIBUTING.md says why fields are `private` and not `#`. */
export class MemoryLedger implements Ledger {
  private readonly clock: Clock
  private readonly capacity: Capacity
  private readonly rule: StateRule
  private readonly scopeNames: readonly string[]
  private evaluation: Evaluation
  private scopes: readonly Scope[]
  /** The only scope, as most ledgers have one: it needs no loop. */
  private only: Scope | undefined
  /** Undefined while there is one plan. */
  private tables: SharedTables | undefined
  /** The keys that are blocked by hand, under any plan. */
  private readonly blocks: Blocks

  /** @param joined the keys and blocks of a ledger whose plans this one joins */
  constructor(
    terms: LedgerTerms,
    capacity: Capacity,
    clock: Clock,
    joined?: { readonly tables: SharedTables; readonly blocks: Blocks },
  ) {
    this.clock = clock
    this.capacity = capacity
    this.rule = terms.onChange ?? 'keep'
    this.scopeNames = terms.scopes
    this.evaluation = new Evaluation(terms.policies)
    this.tables = joined?.tables
    this.blocks = joined?.blocks ?? new Blocks()
    this.scopes = terms.scopes.map((scope) => this.newScope(scope))
    this.only = onlyOf(this.scopes)
  }

  private newScope(name: string): Scope {
    const policies = this.policiesOf(name)
    if (this.tables === undefined) return new SinglePlanScope(policies, this.capacity)
    const table = this.tables.get(name) ?? multiPlanTable(this.capacity)
    this.tables.set(name, table)
    return new MultiPlanScope(policies, table, this.rule)
  }

  private policiesOf(scope: string): readonly PolicyEvaluation[] {
    return this.evaluation.policies.filter(({ policy }) => policy.scope === scope)
  }

  /** The tables of all keys, of other plans too. */
  get keyTables(): readonly KeyTable[] {
    return this.tables === undefined ? this.scopes.map(({ table }) => table) : [...this.tables.values()]
  }

  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, extras?: DecideOptions): Decision {
    if (this.blocks.size > 0) return this.runWithBlock(verb, keys, costs, 0, extras)
    return this.run(verb, keys, costs, 0, extras)
  }

  reserve(keys: readonly string[], costs: Costs, maxWait: number, extras: ReserveOptions = {}): Booking {
    const { renews } = extras
    const decision =
      renews === undefined
        ? this.runWithBlock('reserve', keys, costs, maxWait, extras)
        : this.runWithBlock('renew', keys, costs, 0, { ...extras, tickets: renews })
    if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
    const { delay } = this.evaluation
    return { decision, wait: Math.ceil(delay / 1000), delay, tickets: this.evaluation.tickets(newReservationId()) }
  }

  private runWithBlock(
    verb: Verb,
    keys: readonly string[],
    costs: Costs,
    maxWait: number,
    extras?: DecideOptions,
  ): Decision {
    const { blocks } = this
    const block = blocks.size === 0 ? undefined : blocks.find(this.scopeNames, keys, this.clock(), verb !== 'peek')
    if (block === undefined) return this.run(verb, keys, costs, maxWait, extras)
    const refuses = isBlockable(verb)
    const decision = this.run(refuses ? 'peek' : verb, keys, costs, maxWait, extras)
    return withBlock(decision, block, refuses)
  }

  private run(verb: Verb, keys: readonly string[], costs: Costs, maxWait: number, extras?: DecideOptions): Decision {
    const { evaluation, only } = this
    const now = this.clock()
    const found = only === undefined ? this.find(keys, now) : only.find(keys[0] as string, now)
    evaluation.evaluate(verb, now, costs, maxWait, extras === undefined ? undefined : extras.tickets)
    if (verb === 'refund' || verb === 'settle') this.giveBack(keys, now)
    if (!found) this.claim(keys, now)
    if (verb === 'reserve') this.openBookings()
    const decision = evaluation.commit('store', extras)
    if (this.tables !== undefined) this.keep(now)
    if (!evaluation.allowed) this.noteRefused()
    return decision
  }

  /** Points the evaluation to the states of the keys. Returns true if each key has a row. */
  private find(keys: readonly string[], now: number): boolean {
    let found = true
    for (const [n, scope] of this.scopes.entries()) if (!scope.find(keys[n] as string, now)) found = false
    return found
  }

  private claim(keys: readonly string[], now: number): void {
    if (!this.evaluation.writes) return
    for (const [n, scope] of this.scopes.entries()) scope.claim(keys[n] as string, now)
  }

  /** A key that nobody knows has nothing to give back. It gets a row only if it is charged. */
  private giveBack(keys: readonly string[], now: number): void {
    const charges = this.evaluation.charges
    for (const [n, scope] of this.scopes.entries()) {
      if (charges) scope.claim(keys[n] as string, now)
      else scope.claimKnown(keys[n] as string, now)
    }
    this.evaluation.giveBack()
  }

  private openBookings(): void {
    if (this.evaluation.takes) for (const scope of this.scopes) scope.openBookings()
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

  reset(keys: readonly string[]): void {
    const now = this.clock()
    for (const [n, scope] of this.scopes.entries()) scope.forget(keys[n] as string, now)
    this.blocks.delete(this.scopeNames, keys)
  }

  block(keys: readonly (string | undefined)[], duration: number, reason: string | undefined): void {
    this.blocks.set(this.scopeNames, keys, this.clock(), duration, reason)
  }

  unblock(keys: readonly (string | undefined)[]): void {
    const now = this.clock()
    this.blocks.delete(this.scopeNames, keys)
    for (const [n, { table }] of this.scopes.entries()) {
      const key = keys[n]
      if (key !== undefined) table.unblock(key, now)
    }
  }

  inspect(keys: readonly string[]): readonly KeptKey[] {
    const now = this.clock()
    return this.scopes.map(({ table }, n) => keptKey(table, this.blocksOf(n), keys[n] as string, now))
  }

  list(scope: string, from: unknown): KeyPage {
    const n = this.scopeNames.indexOf(scope)
    return keptPage((this.scopes[n] as Scope).table, this.blocksOf(n), from, this.clock())
  }

  private blocksOf(n: number): ScopeBlocks {
    const scope = this.scopeNames[n] as string
    return { look: (name) => this.blocks.look(scope, name), names: () => this.blocks.names(scope) }
  }

  clear(): void {
    for (const table of this.keyTables) table.clear()
    this.blocks.clear()
  }

  retune(policies: readonly Policy[]): void {
    const now = this.clock()
    this.evaluation = new Evaluation(policies)
    this.setScopes(this.scopes.map((scope, n) => scope.retuned(this.policiesOf(this.scopeNames[n] as string), now)))
  }

  vary(terms: LedgerTerms): Ledger {
    this.tables ??= this.shareTables()
    return new MemoryLedger(terms, this.capacity, this.clock, { tables: this.tables, blocks: this.blocks })
  }

  private shareTables(): SharedTables {
    const now = this.clock()
    const scopes = this.scopes.map((scope) => scope.shared(this.rule, now))
    this.setScopes(scopes)
    return new Map(scopes.map(({ table }, n) => [this.scopeNames[n] as string, table]))
  }

  private setScopes(scopes: readonly Scope[]): void {
    this.scopes = scopes
    this.only = onlyOf(scopes)
  }
}

function onlyOf(scopes: readonly Scope[]): Scope | undefined {
  return scopes.length === 1 ? scopes[0] : undefined
}
