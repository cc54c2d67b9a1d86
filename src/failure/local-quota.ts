/*
 * The local quota: the units that one process admits by itself while the store fails, and how many of these units were
 * later charged to the store.
 *
 *     spent    100 ----.____                 .-- 40 more
 *                           `---.___________/    `----.__
 *     charged           .-- 100 ----.____________________    charged when the store was back
 *     owed     = spent - charged, of the units that still count
 *
 * A memory store has two states of a key under each policy: one of the spent units, one of the charged units. As time
 * passes, units become free in both states by the same rules. Spent units stay spent when the store was charged for
 * them, so that repeated failures of the store do not grant new quotas. Limiters with the same name (`withPlan`) share
 * these states, as they share the states in the store. The states are deleted when all keys have their full quota.
 */

import { LRUCache } from 'lru-cache'
import type { DecidingVerb } from '../algorithms/evaluation/index.ts'
import { type Policy, shareOf } from '../algorithms/index.ts'
import { type Clock, getOrInsert, HeadgateError } from '../common/index.ts'
import type { KeptKey } from '../inspection/index.ts'
import type { Decision, Verdict } from '../policy/index.ts'
import {
  type BanTerms,
  type Booking,
  type Command,
  type Elsewhere,
  type KeyCalendar,
  type Ledger,
  type LedgerTerms,
  type OutcomeOf,
  type Store,
  tooMany,
  windowsOf,
} from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { untold, usedUnits } from './local-policies.ts'
import { hasUnits, type PendingCharge, PendingCharges } from './pending-charges.ts'

/** The states of all local quotas with one limiter name. */
interface States {
  readonly store: Store
  spent: Ledger | undefined
  /** The units that the store was charged for: one ledger for each scope, because the store is charged for one key at a time. */
  readonly charged: Map<string, Ledger>
  /** The time at which all keys have their full quota again, in microseconds. */
  fullAt: number
  readonly ledgersOf: WeakMap<LocalQuota, OpenLedgers>
}

/** What the local quotas with one limiter name share. */
interface Shared {
  readonly instances: number
  readonly maxKeys: number
  readonly clock: Clock
  /** The states. Undefined until the store fails for the first time, because most limiters never need the states. */
  states: States | undefined
  readonly charges: PendingCharges
}

interface OpenLedgers {
  readonly spent: Ledger
  /** The ledgers that count the units that the store was charged for, by the name of the scope. */
  readonly charged: ReadonlyMap<string, Ledger>
}

export class LocalQuota {
  readonly clock: Clock
  readonly #terms: LedgerTerms
  readonly #policies: readonly Policy[]
  readonly #scopes: readonly string[]
  readonly #shared: Shared
  /** For each key, the windows and the calendar of its last call, which a later charge to the store needs. */
  #calendars: LRUCache<string, KeyCalendar> | undefined

  private constructor(terms: LedgerTerms, shared: Shared) {
    this.#policies = terms.policies.map((policy) => untold(shareOf(policy, shared.instances)))
    this.#terms = { ...terms, policies: this.#policies }
    this.#scopes = terms.scopes
    this.#shared = shared
    this.clock = shared.clock
  }

  /**
   * @param instances the number of processes that share the limits: each process gets an equal part of every limit
   * @param maxKeys the most keys of each scope (kind of key)
   */
  static of(terms: LedgerTerms, instances: number, maxKeys: number, clock: Clock): LocalQuota {
    return new LocalQuota(terms, { instances, maxKeys, clock, states: undefined, charges: new PendingCharges() })
  }

  /** A local quota for another plan of the limiter, with other policies. Both local quotas share their states. */
  joined(terms: LedgerTerms): LocalQuota {
    return new LocalQuota(terms, this.#shared)
  }

  get #ledgers(): OpenLedgers {
    const states = this.#states
    return getOrInsert(states.ledgersOf, this, () => {
      const spent = states.store.open(this.#terms, states.spent)
      states.spent ??= spent
      return { spent, charged: new Map(this.#scopes.map((scope) => [scope, this.#openCharged(states, scope)])) }
    })
  }

  get #states(): States {
    const { maxKeys, clock } = this.#shared
    this.#shared.states ??= {
      store: memoryStore({ maxKeys, clock }),
      spent: undefined,
      charged: new Map(),
      fullAt: 0,
      ledgersOf: new WeakMap(),
    }
    return this.#shared.states
  }

  /** Deletes the states if all keys have their full quota, because no decision depends on such states. */
  releaseIfFull(): void {
    const { states, clock } = this.#shared
    if (states !== undefined && clock() >= states.fullAt) this.#shared.states = undefined
  }

  #noteFullAt(resetAfter: number): void {
    const { states, clock } = this.#shared
    if (states !== undefined) states.fullAt = Math.max(states.fullAt, clock() + resetAfter * 1000)
  }

  #openCharged({ store, charged }: States, scope: string): Ledger {
    const first = charged.get(scope)
    const ledger = store.open({ ...this.#terms, policies: this.policiesOf(scope), scopes: [scope] }, first)
    if (first === undefined) charged.set(scope, ledger)
    return ledger
  }

  policiesOf(scope: string): readonly Policy[] {
    return this.#policies.filter((policy) => policy.scope === scope)
  }

  /**
   * Decides by the clock of this process. If that clock is in none of the command's windows, decides in the windows around its time: outside
   * of this class, the command would run again in the store, which may have counted it.
   */
  run<V extends DecidingVerb>(command: Command<V>): OutcomeOf<V> {
    const outcome = this.#ledgers.spent.run(command) as Decision | Booking | Elsewhere
    if ('elsewhere' in outcome) {
      const { elsewhere: now } = outcome
      if (now === tooMany) return outcome as never
      return this.run({ ...command, windows: this.#policies.map((policy) => windowsOf(policy, now, command.calendar)) })
    }
    if (command.windows !== undefined) this.#noteCalendar(command, command.windows)
    const decision: Decision = { ...('decision' in outcome ? outcome.decision : outcome), source: 'fallback' }
    this.#noteFullAt(decision.resetAfter)
    return ('decision' in outcome ? { ...outcome, decision } : decision) as OutcomeOf<V>
  }

  #noteCalendar({ keys, calendar }: Command, all: NonNullable<Command['windows']>): void {
    this.#calendars ??= new LRUCache({ maxSize: this.#shared.maxKeys, sizeCalculation: () => 1 })
    for (const [n, scope] of this.#scopes.entries()) {
      const windows = all.filter((_, policy) => this.#policies[policy]?.scope === scope)
      this.#calendars.set(JSON.stringify([scope, keys[n]]), { windows, calendar })
    }
  }

  /** The windows and the calendar of the last call with this key, for the policies of the scope. Undefined if no policy has a calendar. */
  calendarOf(scope: string, key: string): KeyCalendar | undefined {
    return this.#calendars?.get(JSON.stringify([scope, key]))
  }

  /** The units that a key has spent and that the store was not charged for. One number for each policy of the scope. */
  owed(scope: string, key: string): readonly number[] {
    const charged = this.#chargedUnits(scope, key)
    return this.#spentUnits(scope, key).map((spent, n) => Math.max(0, spent - (charged[n] as number)))
  }

  /** Records that the store is charged for units of a key. @param units one number for each policy of the scope */
  beginCharge(scope: string, key: string, units: readonly number[]): PendingCharge {
    this.#changeCharged('charge', scope, key, units)
    return this.#shared.charges.begin(scope, key, this.policiesOf(scope), units)
  }

  /**
   * Called when the store has answered a charge. Returns the units that this process has given back in the meantime, and that the store has
   * to give back too: one number for each policy of the scope. None if it is unknown whether the store has counted the charge, and none of
   * a window that has ended.
   */
  endCharge(charge: PendingCharge, outcome: 'counted' | 'uncounted' | 'unknown'): readonly number[] {
    if (!this.#shared.charges.end(charge)) return []
    const { scope, key, units, waiting } = charge
    const of = (all: ReadonlyMap<string, number>) => this.policiesOf(scope).map(({ name }) => all.get(name) ?? 0)
    const [had, spent] = [this.#chargedUnits(scope, key), this.#spentUnits(scope, key)]
    const due = of(waiting).map((most, n) => Math.max(0, Math.min(most, (had[n] as number) - (spent[n] as number))))
    this.#changeCharged('refund', scope, key, outcome === 'uncounted' ? of(units) : due)
    return outcome === 'counted' ? due : []
  }

  #changeCharged(verb: 'charge' | 'refund', scope: string, key: string, units: readonly number[]): void {
    const { windows } = this.calendarOf(scope, key) ?? {}
    void this.#ledgers.charged.get(scope)?.run({ verb, keys: [key], costs: units, windows })
  }

  /** Gives units back. @param refund gives units back in the store, which was charged for them: one number for each policy of the scope */
  giveBack(
    command: Command<'refund' | 'settle'>,
    refund: (scope: string, key: string, units: readonly number[]) => void,
  ): Decision {
    const spentUnits = () => this.#scopes.map((scope, n) => this.#spentUnits(scope, command.keys[n] as string))
    const before = spentUnits()
    const { charges } = this.#shared
    const decision = this.run(command)
    for (const [n, after] of spentUnits().entries()) {
      const [scope, key] = [this.#scopes[n] as string, command.keys[n] as string]
      const had = this.#chargedUnits(scope, key)
      const units = this.policiesOf(scope).map((policy, p) => {
        const charged = (had[p] as number) - charges.waiting(scope, key, policy)
        const back = Math.max(0, Math.min(before[n]?.[p] as number, charged) - (after[p] as number))
        return charges.giveBack(scope, key, policy, back)
      })
      if (!hasUnits(units)) continue
      this.#changeCharged('refund', scope, key, units)
      refund(scope, key, units)
    }
    return decision
  }

  inspect(keys: readonly string[]): readonly KeptKey[] {
    const kept = this.#ledgers.spent.run({ verb: 'inspect', keys }) as readonly KeptKey[]
    return kept.map((key) => ({ ...key, policies: this.#policies }))
  }

  reset(keys: readonly string[]): void {
    const { states, charges } = this.#shared
    if (states === undefined) return
    void this.#ledgers.spent.run({ verb: 'reset', keys })
    for (const [n, scope] of this.#scopes.entries()) {
      charges.forget(scope, keys[n] as string)
      void states.charged.get(scope)?.run({ verb: 'reset', keys: [keys[n] as string] })
    }
  }

  /**
   * Bans keys in this process too. A process has space for fewer bans than a store may have. Without space, the keys are not banned in this
   * process.
   */
  ban(command: Command<'ban'>): void {
    try {
      void this.#ledgers.spent.run(command)
      this.#noteFullAt((command.ban as BanTerms).duration / 1000)
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_BAN') throw error
    }
  }

  unban(keys: Command<'unban'>['keys']): void {
    if (this.#shared.states !== undefined) void this.#ledgers.spent.run({ verb: 'unban', keys })
  }

  clear(): void {
    this.#shared.states = undefined
    this.#shared.charges.forgetAll()
  }

  /**
   * The spent units of a key, for each policy of the scope. A peek needs a key for every scope, so this method passes this key for all
   * scopes, and ignores the verdicts of the other scopes.
   */
  #spentUnits(scope: string, key: string): readonly number[] {
    const decision = this.#ledgers.spent.run({ verb: 'peek', keys: this.#scopes.map(() => key) }) as Decision
    return decision.policies.flatMap((verdict, n) => {
      const policy = this.#policies[n] as Policy
      return policy.scope === scope ? [usedUnits(policy, verdict)] : []
    })
  }

  #chargedUnits(scope: string, key: string): readonly number[] {
    const ledger = this.#ledgers.charged.get(scope) as Ledger
    const { policies } = ledger.run({ verb: 'peek', keys: [key] }) as Decision
    return this.policiesOf(scope).map((policy, n) => usedUnits(policy, policies[n] as Verdict))
  }
}
