import { isBannable, withBan } from '../../algorithms/bans/index.ts'
import { type DecidingVerb, Evaluation, isFull } from '../../algorithms/evaluation/index.ts'
import type { Policy } from '../../algorithms/index.ts'
import type { Clock } from '../../common/index.ts'
import type { KeptKey, KeyPage } from '../../inspection/index.ts'
import type { Decision } from '../../policy/index.ts'
import {
  type BanTerms,
  type Booking,
  bookingOf,
  type Command,
  elsewhere,
  type Ledger,
  type LedgerTerms,
  type Outcome,
  type OutcomeOf,
  type ScanTerms,
  tooMany,
  type Verb,
} from '../contract/index.ts'
import { keptKey, keptPage } from './inspect-memory.ts'
import { type Capacity, KeyTable } from './key-table.ts'
import { MemoryBans } from './memory-bans.ts'
import { Scope } from './scope-states.ts'

/** What the ledgers of all plans (sets of policies) of a limiter share: key tables and bans. */
export interface LimiterKeys {
  /** The table of keys of each scope (kind of key, such as users), by the name of the scope. */
  readonly tables: Map<string, KeyTable>
  /** The bans that calls of `ban` have begun. */
  readonly bans: MemoryBans
  /** True if several plans (sets of policies) share the tables. */
  shared: boolean
  /** True if the policies of an override have states in some rows of the tables. */
  mixed: boolean
}

/** The ledger of a memory store. Its fields are `private` and not `#`, which is faster: see CONTRIBUTING.md. */
export class MemoryLedger implements Ledger {
  private readonly clock: Clock
  private readonly capacity: Capacity
  private readonly evaluation: Evaluation
  private readonly scopes: readonly Scope[]
  /**
   * The scope (kind of key), if the limiter has only one plan (set of policies) and one scope, as most limiters have. No loop over scopes
   * is then needed. Undefined for other limiters.
   */
  private only: Scope | undefined
  private readonly bans: MemoryBans
  readonly keys: LimiterKeys

  /** @param keys the tables and bans of an earlier ledger, if this ledger uses the same states; undefined to make new ones */
  constructor(terms: LedgerTerms, capacity: Capacity, clock: Clock, keys?: LimiterKeys) {
    this.clock = clock
    this.capacity = capacity
    this.evaluation = new Evaluation(terms.policies)
    this.keys = keys ?? { tables: new Map(), bans: new MemoryBans(), shared: false, mixed: false }
    this.bans = this.keys.bans
    this.scopes = terms.scopes.map((scope) => this.newScope(scope, terms))
    const alone = keys === undefined || (terms.replaces === true && !keys.shared)
    this.only = this.scopes.length === 1 && alone ? this.scopes[0] : undefined
  }

  private newScope(name: string, { policies, onChange = 'keep', override }: LedgerTerms): Scope {
    const { tables } = this.keys
    const table = tables.get(name) ?? new KeyTable(policiesOf(name, policies), this.capacity)
    tables.set(name, table)
    if (this.keys.shared) table.share(this.clock())
    const own = this.evaluation.policies.filter(({ policy }) => policy.scope === name)
    const aside = override !== undefined && !table.isFor(policiesOf(name, policies))
    if (aside) table.mix(this.clock())
    return new Scope(name, own, table, onChange, aside)
  }

  run<V extends Verb>(command: Command<V>): OutcomeOf<V> {
    const { verb } = command
    const now = this.clock()
    if (!this.evaluation.place(command.windows, now)) return elsewhere(now)
    if (verb === 'consume' && this.bans.size === 0) {
      return this.decide(command as Command<'consume'>, now) as OutcomeOf<V>
    }
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
    return this.decideUnlessBanned(command as Command<DecidingVerb>)
  }

  private reserve(command: Command<'reserve' | 'renew'>): Booking {
    const decision = this.decideUnlessBanned(command)
    if ('elsewhere' in decision) return decision as never
    return bookingOf(decision, this.evaluation.delay, () => this.evaluation.tickets(command.expires))
  }

  /** Decides a call. A call with a banned key is refused: a peek, which takes no units, computes the verdicts. */
  private decideUnlessBanned(command: Command<DecidingVerb>): Decision {
    const { verb, keys } = command
    const { bans } = this
    const ban = bans.size === 0 ? undefined : bans.find(this.scopes, keys, this.clock(), verb !== 'peek')
    if (ban === undefined) return this.decide(command)
    const refuses = isBannable(verb)
    return withBan(this.decide(refuses ? { ...command, verb: 'peek' } : command), ban, refuses)
  }

  private decide(
    { verb, keys, costs = 1, alternatives, maxWait = 0, expires, tickets, unreserved, details }: Command<DecidingVerb>,
    now = this.clock(),
  ): Decision {
    const { evaluation, only } = this
    const found = only === undefined ? this.find(keys, now) : only.findAlone(keys[0] as string, now)
    if (alternatives === undefined) evaluation.evaluate(verb, now, costs, maxWait, tickets)
    else evaluation.evaluateFirst(verb, now, alternatives, maxWait)
    if (verb === 'refund' || verb === 'settle') this.giveBack(keys, now, unreserved)
    if (expires !== undefined && isFull(evaluation)) return elsewhere(tooMany)
    if (!found) this.claim(keys, now)
    if (verb === 'reserve') this.openBookings(expires !== undefined)
    const decision = evaluation.commit('store', details)
    if (only === undefined) this.keep(now)
    if (!evaluation.allowed || (evaluation.spent !== undefined && evaluation.spent.banned > 0)) this.noteRefused()
    else if (alternatives !== undefined) this.noteRefusers(evaluation.refusers as ReadonlySet<Policy>)
    return decision
  }

  /** Looks up the keys, so that the evaluation can read their states. Returns true if each key has a row in the table of its scope. */
  private find(keys: readonly string[], now: number): boolean {
    const { scopes } = this
    let found = true
    for (let n = 0; n < scopes.length; n++) if (!(scopes[n] as Scope).find(keys[n] as string, now)) found = false
    return found
  }

  private claim(keys: readonly string[], now: number): void {
    if (!this.evaluation.writes) return
    for (const [n, scope] of this.scopes.entries()) scope.claim(keys[n] as string, now)
  }

  /**
   * Gives the units of the call back to its keys. A key without states has used no units, so it gets a row only if the call is a
   * settlement (correction to the actual cost) that takes more units.
   */
  private giveBack(keys: readonly string[], now: number, unreserved: boolean | undefined): void {
    const charges = this.evaluation.charges
    for (const [n, scope] of this.scopes.entries()) {
      if (charges) scope.claim(keys[n] as string, now)
      else scope.claimKnown(keys[n] as string, now)
    }
    this.evaluation.giveBack(unreserved)
  }

  private openBookings(expire: boolean): void {
    if (this.evaluation.takes) for (const scope of this.scopes) scope.openBookings(expire)
  }

  private keep(now: number): void {
    if (!this.keys.shared && !this.keys.mixed) return
    const { scopes } = this
    for (let n = 0; n < scopes.length; n++) (scopes[n] as Scope).keep(now)
  }

  private noteRefused(): void {
    const { only } = this
    if (only === undefined) this.noteRefusals()
    else only.noteRefused()
  }

  private noteRefusals(): void {
    for (const scope of this.scopes) scope.noteRefused()
  }

  private noteRefusers(refusers: ReadonlySet<Policy>): void {
    for (const scope of this.scopes) scope.noteRefusers(refusers)
  }

  private reset(keys: readonly string[]): undefined {
    const now = this.clock()
    for (const [n, scope] of this.scopes.entries()) scope.table.forget(keys[n] as string, now)
    this.bans.delete(this.scopes, keys)
  }

  private ban({ keys, ban }: Command<'ban'>): undefined {
    this.bans.set(this.scopes, keys, this.clock(), ban as BanTerms)
  }

  private unban(keys: readonly (string | undefined)[]): undefined {
    const now = this.clock()
    this.bans.delete(this.scopes, keys)
    for (const [n, { table }] of this.scopes.entries()) {
      const key = keys[n]
      if (key !== undefined) table.unban(key, now)
    }
  }

  private inspect(keys: readonly string[]): readonly KeptKey[] {
    const now = this.clock()
    return this.scopes.map((scope, n) => keptKey(scope, this.bans, keys[n] as string, now))
  }

  private scan({ scope, from }: ScanTerms): KeyPage {
    const found = this.scopes.find(({ name }) => name === scope) as Scope
    return keptPage(found, this.bans, from, this.clock())
  }

  private clear(): undefined {
    for (const table of this.keys.tables.values()) table.clear()
    this.bans.clear()
  }

  /**
   * A ledger for the same states under other policies. With `terms.replaces`, the new ledger replaces this ledger; otherwise
   * both are used. A ledger with the same policies for only some of the scopes uses the tables unchanged.
   */
  joined(terms: LedgerTerms): MemoryLedger {
    const now = this.clock()
    const { tables } = this.keys
    if (!terms.replaces) {
      this.only = undefined
      if (terms.override !== undefined) {
        this.keys.mixed = true
        return new MemoryLedger(terms, this.capacity, this.clock, this.keys)
      }
      const alike = terms.scopes.every((scope) => tables.get(scope)?.isFor(policiesOf(scope, terms.policies)))
      if (alike) return new MemoryLedger(terms, this.capacity, this.clock, this.keys)
      this.keys.shared = true
    }
    for (const [scope, table] of tables) {
      if (this.keys.shared || this.keys.mixed) table.share(now)
      else table.retune(policiesOf(scope, terms.policies), now)
    }
    return new MemoryLedger(terms, this.capacity, this.clock, this.keys)
  }
}

function policiesOf(scope: string, policies: readonly Policy[]): readonly Policy[] {
  return policies.filter((policy) => policy.scope === scope)
}
