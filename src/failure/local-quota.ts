/*
 * The local quota: the units that one process admits by itself while the store fails, and how many of them the store has
 * been charged for since.
 *
 *     spent    100 ----.____                 .-- 40 more
 *                           `---.___________/    `----.__
 *     charged           .-- 100 ----.____________________    charged when the store was back
 *     owed     = spent - charged, as far as both still count
 *
 * Both are states under the same policies in a memory store, so both lapse by the same arithmetic. Units stay spent when
 * the store has been charged: a store that fails again and again grants no new quota each time. The limiters of one name
 * (`under`) share these states, as they share those of the store. Once all have lapsed, their memory is released.
 */
import type { Policy } from '../algorithms/algorithm.ts'
import { withLimit } from '../algorithms/define-policy.ts'
import type { Verb as DecidingVerb } from '../algorithms/evaluation.ts'
import type { Clock } from '../clock.ts'
import type { Decision, Verdict } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import type { KeptKey } from '../inspection/kept-key.ts'
import type { BanTerms, Booking, Command, OutcomeOf } from '../stores/command.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Ledger, LedgerTerms, Store } from '../stores/store.ts'

/** The states of all local quotas of one name. */
interface States {
  readonly store: Store
  spent: Ledger | undefined
  /** One ledger for each policy, by its scope and name, since the store is charged for each policy by itself. */
  readonly charged: Map<string, { readonly scope: string; readonly ledger: Ledger }>
  /** When all of them are those of new keys, in microseconds. */
  fullAt: number
  readonly ledgersOf: WeakMap<LocalQuota, OpenLedgers>
}

/** What the local quotas of one name share. */
interface Shared {
  readonly instances: number
  readonly maxKeys: number
  readonly clock: Clock
  /** Made at the first failure. Most are never needed. */
  states: States | undefined
}

interface OpenLedgers {
  readonly spent: Ledger
  readonly charged: readonly Ledger[]
}

export class LocalQuota {
  readonly #terms: LedgerTerms
  readonly #policies: readonly Policy[]
  readonly #scopes: readonly string[]
  readonly #shared: Shared

  private constructor(terms: LedgerTerms, shared: Shared) {
    this.#policies = terms.policies.map((policy) => shareOf(policy, shared.instances))
    this.#terms = { ...terms, policies: this.#policies }
    this.#scopes = terms.scopes
    this.#shared = shared
  }

  /**
   * @param instances the number of processes that share the limits: each gets that part of them
   * @param maxKeys of each scope
   */
  static of(terms: LedgerTerms, instances: number, maxKeys: number, clock: Clock): LocalQuota {
    return new LocalQuota(terms, { instances, maxKeys, clock, states: undefined })
  }

  /** The same states under other policies. */
  joined(terms: LedgerTerms): LocalQuota {
    return new LocalQuota(terms, this.#shared)
  }

  get #ledgers(): OpenLedgers {
    const states = this.#states
    const known = states.ledgersOf.get(this)
    if (known !== undefined) return known
    const spent = states.store.open(this.#terms, states.spent)
    states.spent ??= spent
    const charged = this.#policies.map((policy) => this.#openCharged(states, policy))
    const opened = { spent, charged }
    states.ledgersOf.set(this, opened)
    return opened
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

  /** Releases the states once they are those of new keys: then nothing depends on them. */
  releaseIfFull(): void {
    const { states, clock } = this.#shared
    if (states !== undefined && clock() >= states.fullAt) this.#shared.states = undefined
  }

  #noteFullAt(resetAfter: number): void {
    const { states, clock } = this.#shared
    if (states !== undefined) states.fullAt = Math.max(states.fullAt, clock() + resetAfter * 1000)
  }

  #openCharged({ store, charged }: States, policy: Policy): Ledger {
    const { scope } = policy
    const id = JSON.stringify([scope, policy.name])
    const terms = { ...this.#terms, policies: [policy], scopes: [scope] }
    const first = charged.get(id)
    const ledger = store.open(terms, first?.ledger)
    if (first === undefined) charged.set(id, { scope, ledger })
    return ledger
  }

  run<V extends DecidingVerb>(command: Command<V>): OutcomeOf<V> {
    const outcome = this.#ledgers.spent.run(command) as Decision | Booking
    const decision: Decision = { ...('decision' in outcome ? outcome.decision : outcome), source: 'fallback' }
    this.#noteFullAt(decision.resetAfter)
    return ('decision' in outcome ? { ...outcome, decision } : decision) as OutcomeOf<V>
  }

  /** The units of each policy that the key spent here, that still count, and that the store has not been charged. */
  owed(scope: string, key: string): readonly number[] {
    const spent = this.#spentUnits(key)
    return this.#policies.map((policy, n) =>
      policy.scope === scope ? Math.max(0, (spent[n] as number) - this.#chargedUnits(n, key)) : 0,
    )
  }

  addCharged(policy: number, key: string, units: number): void {
    void this.#ledgers.charged[policy]?.run({ verb: 'charge', keys: [key], costs: units })
  }

  removeCharged(policy: number, key: string, units: number): void {
    void this.#ledgers.charged[policy]?.run({ verb: 'refund', keys: [key], costs: units })
  }

  /** Gives units back. `overcharged` holds, for each policy, how many of them the store has been charged already. */
  giveBack(command: Command<'refund' | 'settle'>): { decision: Decision; overcharged: number[] } {
    const { keys } = command
    const before = this.#policies.map((policy, n) => this.#spentUnits(this.#keyOf(policy, keys))[n] as number)
    const decision = this.run(command)
    const overcharged = this.#policies.map((policy, n) => {
      const key = this.#keyOf(policy, keys)
      const spent = this.#spentUnits(key)[n] as number
      const units = Math.max(0, Math.min((before[n] as number) - spent, this.#chargedUnits(n, key) - spent))
      if (units > 0) this.removeCharged(n, key, units)
      return units
    })
    return { decision, overcharged }
  }

  inspect(keys: readonly string[]): readonly KeptKey[] {
    const kept = this.#ledgers.spent.run({ verb: 'inspect', keys }) as readonly KeptKey[]
    return kept.map((key) => ({ ...key, policies: this.#policies }))
  }

  reset(keys: readonly string[]): void {
    const { states } = this.#shared
    if (states === undefined) return
    void this.#ledgers.spent.run({ verb: 'reset', keys })
    for (const charged of states.charged.values()) {
      if (this.#scopes.includes(charged.scope)) {
        void charged.ledger.run({ verb: 'reset', keys: [this.#keyOf(charged, keys)] })
      }
    }
  }

  /** As many keys as fit: the store may have more bans than the memory of one process. */
  ban(command: Command<'ban'>): void {
    try {
      void this.#ledgers.spent.run(command)
      this.#noteFullAt((command.ban as BanTerms).duration / 1000)
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_BLOCK') throw error
    }
  }

  unban(keys: Command<'unban'>['keys']): void {
    if (this.#shared.states !== undefined) void this.#ledgers.spent.run({ verb: 'unban', keys })
  }

  clear(): void {
    this.#shared.states = undefined
  }

  #keyOf({ scope }: { scope: string }, keys: readonly string[]): string {
    return keys[this.#scopes.indexOf(scope)] as string
  }

  /**
   * For each policy, the units spent. The key is used for every scope, so only the numbers of its own scope are
   * meaningful.
   */
  #spentUnits(key: string): readonly number[] {
    const keys = this.#scopes.map(() => key)
    const { policies } = this.#ledgers.spent.run({ verb: 'peek', keys }) as Decision
    return policies.map((verdict, n) => usedUnits(this.#policies[n] as Policy, verdict))
  }

  #chargedUnits(policy: number, key: string): number {
    const { policies } = (this.#ledgers.charged[policy] as Ledger).run({ verb: 'peek', keys: [key] }) as Decision
    return usedUnits(this.#policies[policy] as Policy, policies[0] as Verdict)
  }
}

/**
 * The units that the store is charged for. A penalty takes none, and units in flight are freed here. Guava's limiters
 * admit any cost and make the next call wait, so the wait is what is used.
 */
function usedUnits({ algorithm, limit, window }: Policy, { used, retryAfter }: Verdict): number {
  if (algorithm.punishes || algorithm.leases) return 0
  if (algorithm.paysLater) return Math.max(0, Math.ceil(((retryAfter - 1) * limit) / window)) // waits are rounded up
  return used
}

/**
 * One instance's share of a policy: a part of its limit and burst, at least 1 unit unless the limit is 0.
 * @throws HeadgateError `HEADGATE_POLICY` for a policy that no constructor made, or `HEADGATE_INEXACT`
 */
function shareOf(policy: Policy, instances: number): Policy {
  if (instances === 1 || policy.limit === 0) return policy
  const whole = Number.isInteger(policy.limit)
  const limit = whole ? Math.max(1, Math.floor(policy.limit / instances)) : policy.limit / instances
  const burst = Math.max(1, Math.floor(policy.burst / instances))
  // The share may have no divisor in common with the window, and then its arithmetic is not exact. A rounder one is.
  for (let round = 10; ; round *= 10) {
    try {
      return withLimit(policy, Math.max(1, limit - (round > 10 ? limit % (round / 10) : 0)), burst)
    } catch (error) {
      if (!(error instanceof HeadgateError) || error.code !== 'HEADGATE_INEXACT' || round > limit * 10) throw error
    }
  }
}
