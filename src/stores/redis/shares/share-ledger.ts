import { type CallBan, callBan, longerBan, newBan, withBan } from '../../../algorithms/bans/index.ts'
import type { Costs, Details } from '../../../algorithms/evaluation/index.ts'
import type { Policy } from '../../../algorithms/index.ts'
import { HeadgateError, type MaybePromise, shown } from '../../../common/index.ts'
import type { KeptKey, KeyPage } from '../../../inspection/index.ts'
import { type Decision, join, type Verdict } from '../../../policy/index.ts'
import type { Command, Ledger, LedgerTerms, Outcome, OutcomeOf, Verb } from '../../contract/index.ts'
import { isDemand } from './demand.ts'
import type { KeyShare } from './key-share.ts'
import { Outage } from './outage.ts'
import type { Reporter } from './reporter.ts'
import { ScopeShares } from './scope-shares.ts'

/** The scope of a policy, and its index among the policies of the scope. */
interface Place {
  readonly scope: number
  readonly n: number
}

/** Decides `consume` by this process's part of each key's quota. Every other verb goes to the store. */
export class ShareLedger implements Ledger {
  readonly #exact: Ledger
  readonly #reporter: Reporter
  readonly #outage: Outage
  readonly #policies: readonly Policy[]
  readonly #scopes: readonly ScopeShares[]
  readonly #places: readonly Place[]
  readonly #scopeNames: readonly string[]

  /** @throws HeadgateError `HEADGATE_POLICY` for a policy that only the store can decide */
  constructor(terms: LedgerTerms, reporter: Reporter, instances: number) {
    const { policies, scopes } = terms
    for (const policy of policies) checkPolicy(policy)
    this.#exact = reporter.store.open(terms)
    this.#scopeNames = scopes
    this.#reporter = reporter
    this.#outage = new Outage(reporter.period, reporter.store.traits?.shardOf)
    this.#policies = policies
    this.#scopes = scopes.map((scope) => new ScopeShares(terms, scope, reporter, this.#outage, instances))
    this.#places = policies.map((policy) => {
      const scope = scopes.indexOf(policy.scope)
      return { scope, n: (this.#scopes[scope] as ScopeShares).policies.indexOf(policy) }
    })
  }

  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    return this.#run(command) as MaybePromise<OutcomeOf<V>>
  }

  #run(command: Command): MaybePromise<Outcome> {
    const { verb } = command
    const keys = command.keys as readonly string[]
    if (verb === 'consume') return this.#consume(command as Command<'consume'>)
    if (verb === 'reset') for (const [n, scope] of this.#scopes.entries()) scope.forget(keys[n] as string)
    if (verb === 'ban' || verb === 'unban') return this.#changeBan(command as Command<'ban' | 'unban'>)
    if (verb === 'clear') return this.#clear(command)
    if (verb === 'inspect') return this.#inspect(command as Command<'inspect'>)
    if (verb === 'scan') return this.#scan(command as Command<'scan'>)
    return verb === 'reserve' || verb === 'renew' || verb === 'reset'
      ? this.#exact.run(command)
      : this.#decideExactly(command)
  }

  #consume(command: Command<'consume'>): MaybePromise<Decision> {
    const { keys, costs = 1, details } = command
    const now = this.#reporter.clock()
    this.#reporter.wake(now)
    const local = !this.#reporter.processes.unreadable && !this.#isLarge(costs)
    const shares = local ? this.#sharesOf(keys, now) : undefined
    if (shares === undefined) return this.#decideExactly(command) as Promise<Decision>
    this.#outage.check(keys, now)
    return this.#decideLocally(shares, costs, now, details)
  }

  /** True for a cost that the part of one process may never reach, however long a call waits. */
  #isLarge(costs: Costs): boolean {
    const { count } = this.#reporter.processes
    if (count === 1 || costs === 1) return false
    return this.#policies.some(({ burst, shadow }, n) => {
      const cost = typeof costs === 'number' ? costs : (costs[n] as number)
      return !shadow && cost > Math.max(1, burst / (2 * count))
    })
  }

  async #decideExactly(command: Command): Promise<Outcome> {
    const outcome = await this.#exact.run(command)
    for (const [n, scope] of this.#scopes.entries()) scope.mended(command.keys[n] as string)
    return outcome
  }

  /** Bans or unbans in the store and in this process. Other processes follow after their next report. */
  async #changeBan(command: Command<'ban' | 'unban'>): Promise<undefined> {
    const { keys, ban } = command
    if (ban !== undefined) {
      const { from: now, until, reason } = newBan(this.#reporter.clock(), ban.duration, ban.reason)
      this.#setBans(keys, (scope) => callBan(scope, { from: now, until, reason }, now))
    }
    await this.#exact.run(command)
    if (ban === undefined) this.#setBans(keys, () => undefined)
  }

  #setBans(keys: readonly (string | undefined)[], banOf: (scope: string) => CallBan | undefined): void {
    const now = this.#reporter.clock()
    for (const [n, key] of keys.entries()) {
      const share = key === undefined ? undefined : this.#scopes[n]?.shareOf(key, now)
      share?.setBan(banOf(this.#scopeNames[n] as string))
    }
  }

  async #clear(command: Command): Promise<undefined> {
    for (const scope of this.#scopes) scope.forgetAll()
    await this.#exact.run(command)
    for (const scope of this.#scopes) scope.forgetAll() // units admitted meanwhile were reported to keys that are now cleared
  }

  /** The store's states, with a note of what this process has admitted since its last report. */
  async #inspect(command: Command<'inspect'>): Promise<readonly KeptKey[]> {
    const { keys } = command
    const kept = await this.#exact.run(command)
    return kept.map((key, n) => {
      const units = this.#scopes[n]?.unreported(keys[n] as string) ?? 0
      const own =
        units > 0
          ? ` This process has admitted ${units} ${units === 1 ? 'unit' : 'units'} that it has not reported.`
          : ''
      const period = `Processes admit by their shares and report every ${this.#reporter.period / 1000} ms.`
      return { ...withoutDemand(key), notes: [...(key.notes ?? []), period + own] }
    })
  }

  async #scan(command: Command<'scan'>): Promise<KeyPage> {
    const { keys, next } = await this.#exact.run(command)
    return { keys: keys.map((listed) => ({ ...listed, kept: withoutDemand(listed.kept) })), next }
  }

  #sharesOf(keys: readonly string[], now: number): readonly KeyShare[] | undefined {
    const shares: KeyShare[] = []
    for (const [n, scope] of this.#scopes.entries()) {
      const share = scope.shareOf(keys[n] as string, now)
      if (share === undefined) return undefined
      shares.push(share)
    }
    return shares
  }

  #decideLocally(shares: readonly KeyShare[], costs: Costs, now: number, details: Details | undefined): Decision {
    const costOf = (index: number) => (typeof costs === 'number' ? costs : (costs[index] as number))
    const allowed = this.#places.map(({ scope, n }, index) => (shares[scope] as KeyShare).admits(n, costOf(index), now))
    const ban = shares.map((share) => share.banAt(now)).reduce(longerBan)
    const enough = allowed.every((each, index) => each || (this.#policies[index] as Policy).shadow)
    const admitted = enough && ban === undefined
    const byScope = shares.map((): number[] => [])
    for (const [index, { scope, n }] of this.#places.entries()) {
      ;(byScope[scope] as number[])[n] = admitted && !allowed[index] ? 0 : costOf(index)
    }
    for (const [scope, share] of shares.entries()) share.count(byScope[scope] as number[], admitted, now)
    const untilReport = this.#reporter.untilNext(now)
    const verdicts = this.#places.map(({ scope, n }, index): Verdict => {
      const share = shares[scope] as KeyShare
      const verdict = share.verdict(n, allowed[index] as boolean, costOf(index), now, untilReport)
      return details?.nextAfter
        ? { ...verdict, nextAfter: verdict.resetAfter > 0 ? Math.ceil(untilReport / 1000) : 0 }
        : verdict
    })
    const source = this.#reporter.isColdWithout(this.#outage) ? 'fallback' : 'store'
    const decision = join(admitted, verdicts, source, details?.at ? Math.floor(now / 1000) : undefined)
    return ban === undefined ? decision : withBan(decision, ban, true)
  }
}

/** Removes the states of demand policies, which are not policies of the limiter. */
function withoutDemand(kept: KeptKey): KeptKey {
  return { ...kept, states: kept.states.filter((state) => !isDemand(state)) }
}

function checkPolicy({ name, countRefused, algorithm }: Policy): void {
  const { punishes, leases, paysLater } = algorithm
  if (!countRefused && !punishes && !leases && !paysLater) return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `The mode 'shares' cannot decide the policy ${shown(name)} without asking the store: it has buckets, windows and logs, without ` +
      'countRefused. Give that policy to a limiter on another redisStore.',
  )
}
