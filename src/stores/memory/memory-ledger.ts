import { isBlockable, withBlock } from '../../algorithms/block.ts'
import type { StateRule } from '../../algorithms/carry.ts'
import { type Verb as DecidingVerb, Evaluation, type PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { newReservationId } from '../../algorithms/reservation-id.ts'
import type { Clock } from '../../clock.ts'
import type { Decision } from '../../decision.ts'
import type { KeptKey, KeyPage } from '../../inspection/kept-key.ts'
import {
  type BanTerms,
  type Booking,
  bookingOf,
  type Command,
  type Outcome,
  type OutcomeOf,
  type ScanTerms,
  type Verb,
} from '../command.ts'
import type { Ledger, LedgerTerms } from '../store.ts'
import { Blocks } from './blocks.ts'
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
  private readonly evaluation: Evaluation
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
    joined?: { readonly tables: SharedTables | undefined; readonly blocks: Blocks },
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

  run<V extends Verb>(command: Command<V>): OutcomeOf<V> {
    const { verb } = command
    if (verb === 'consume' && this.blocks.size === 0) return this.decide(command as Command<'consume'>) as OutcomeOf<V>
    return this.runOther(command) as OutcomeOf<V>
  }

  private runOther(command: Command): Outcome {
    const { verb } = command
    const keys = command.keys as readonly string[]
    if (verb === 'reserve' || verb === 'renew') return this.reserve(command as Command<'reserve' | 'renew'>)
    if (verb === 'reset') return this.reset(keys)
    if (verb === 'ban') return this.ban(command as Command<'ban'>)
    if (verb === 'unban') return this.unban(command.keys)
    if (verb === 'inspect') return this.inspect(keys)
    if (verb === 'scan') return this.scan(command.scan as ScanTerms)
    if (verb === 'clear') return this.clear()
    return this.decideUnlessBlocked(command as Command<DecidingVerb>)
  }

  private reserve(command: Command<'reserve' | 'renew'>): Booking {
    const decision = this.decideUnlessBlocked(command)
    return bookingOf(decision, this.evaluation.delay, () => this.evaluation.tickets(newReservationId()))
  }

  /** A call on a blocked key is a peek, whose decision is then refused. */
  private decideUnlessBlocked(command: Command<DecidingVerb>): Decision {
    const { verb, keys } = command
    const { blocks } = this
    const block = blocks.size === 0 ? undefined : blocks.find(this.scopeNames, keys, this.clock(), verb !== 'peek')
    if (block === undefined) return this.decide(command)
    const refuses = isBlockable(verb)
    return withBlock(this.decide(refuses ? { ...command, verb: 'peek' } : command), block, refuses)
  }

  private decide({ verb, keys, costs = 1, maxWait = 0, tickets, details }: Command<DecidingVerb>): Decision {
    const { evaluation, only } = this
    const now = this.clock()
    const found = only === undefined ? this.find(keys, now) : only.find(keys[0] as string, now)
    evaluation.evaluate(verb, now, costs, maxWait, tickets)
    if (verb === 'refund' || verb === 'settle') this.giveBack(keys, now)
    if (!found) this.claim(keys, now)
    if (verb === 'reserve') this.openBookings()
    const decision = evaluation.commit('store', details)
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

  private reset(keys: readonly string[]): undefined {
    const now = this.clock()
    for (const [n, scope] of this.scopes.entries()) scope.forget(keys[n] as string, now)
    this.blocks.delete(this.scopeNames, keys)
  }

  private ban({ keys, ban }: Command<'ban'>): undefined {
    this.blocks.set(this.scopeNames, keys, this.clock(), ban as BanTerms)
  }

  private unban(keys: readonly (string | undefined)[]): undefined {
    const now = this.clock()
    this.blocks.delete(this.scopeNames, keys)
    for (const [n, { table }] of this.scopes.entries()) {
      const key = keys[n]
      if (key !== undefined) table.unblock(key, now)
    }
  }

  private inspect(keys: readonly string[]): readonly KeptKey[] {
    const now = this.clock()
    return this.scopes.map(({ table }, n) => keptKey(table, this.blocksOf(n), keys[n] as string, now))
  }

  private scan({ scope, from }: ScanTerms): KeyPage {
    const n = this.scopeNames.indexOf(scope)
    return keptPage((this.scopes[n] as Scope).table, this.blocksOf(n), from, this.clock())
  }

  private blocksOf(n: number): ScopeBlocks {
    const scope = this.scopeNames[n] as string
    return { look: (name) => this.blocks.look(scope, name), names: () => this.blocks.names(scope) }
  }

  private clear(): undefined {
    for (const table of this.keyTables) table.clear()
    this.blocks.clear()
  }

  /** The same states under other policies, which both ledgers share. */
  joined(terms: LedgerTerms): MemoryLedger {
    this.tables ??= this.shareTables()
    return new MemoryLedger(terms, this.capacity, this.clock, { tables: this.tables, blocks: this.blocks })
  }

  /** The ledger that goes on in place of this one. */
  replaced(terms: LedgerTerms): MemoryLedger {
    const now = this.clock()
    const next = new MemoryLedger(terms, this.capacity, this.clock, { tables: this.tables, blocks: this.blocks })
    next.setScopes(this.scopes.map((scope, n) => scope.retuned(next.policiesOf(this.scopeNames[n] as string), now)))
    this.setScopes([])
    return next
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
