import type { Policy } from '../../algorithms/algorithm.ts'
import { type CallBlock, longerBlock, withBlock } from '../../algorithms/block.ts'
import type { Costs } from '../../algorithms/evaluation.ts'
import { type Decision, join, type Verdict } from '../../decision.ts'
import { HeadgateError, shown } from '../../errors.ts'
import type { KeptKey, KeyPage } from '../../inspection/kept-key.ts'
import type { MaybePromise } from '../../maybe-promise.ts'
import type { Booking, DecideOptions, DecideVerb, Ledger, LedgerTerms, ReserveOptions } from '../store.ts'
import { isDemand } from './demand.ts'
import type { KeyShare } from './key-share.ts'
import { Outage } from './outage.ts'
import type { Reporter } from './reporter.ts'
import { ScopeShares } from './scope-shares.ts'

/** Where a policy stands: the scope, and the place among the scope's policies. */
interface Place {
  readonly scope: number
  readonly n: number
}

/** Decides `consume` by this process's shares of the keys. Every other verb goes to the store. */
export class OptimisticLedger implements Ledger {
  readonly #exact: Ledger
  readonly #reporter: Reporter
  readonly #outage: Outage
  readonly #policies: readonly Policy[]
  readonly #scopes: readonly ScopeShares[]
  readonly #places: readonly Place[]
  /** Absent if the store behind it cannot forget all keys. */
  readonly clear?: () => Promise<void>
  /** Absent if the store behind it cannot block keys. */
  readonly block?: NonNullable<Ledger['block']>
  readonly unblock?: NonNullable<Ledger['unblock']>
  readonly #scopeNames: readonly string[]
  /** Absent if the store behind it cannot do it. */
  readonly inspect?: (keys: readonly string[]) => Promise<readonly KeptKey[]>
  readonly list?: (scope: string, from: unknown) => Promise<KeyPage>

  /** @throws HeadgateError `HEADGATE_POLICY` for a policy that only the store can decide */
  constructor(terms: LedgerTerms, reporter: Reporter) {
    const { policies, scopes } = terms
    for (const policy of policies) checkPolicy(policy)
    this.#exact = reporter.store.open(terms)
    this.#scopeNames = scopes
    if (this.#exact.block !== undefined) this.block = (...block) => this.#block(...block)
    if (this.#exact.unblock !== undefined) this.unblock = (keys) => this.#unblock(keys)
    if (this.#exact.clear !== undefined) this.clear = () => this.#clear()
    if (this.#exact.inspect !== undefined) this.inspect = (keys) => this.#inspect(keys)
    if (this.#exact.list !== undefined) this.list = (scope, from) => this.#list(scope, from)
    this.#reporter = reporter
    this.#outage = new Outage(reporter.period)
    this.#policies = policies
    this.#scopes = scopes.map((scope) => {
      return new ScopeShares(
        terms,
        scope,
        policies.filter((policy) => policy.scope === scope),
        reporter,
        this.#outage,
      )
    })
    this.#places = policies.map((policy) => {
      const scope = scopes.indexOf(policy.scope)
      return { scope, n: (this.#scopes[scope] as ScopeShares).policies.indexOf(policy) }
    })
  }

  decide(verb: DecideVerb, keys: readonly string[], costs: Costs, options?: DecideOptions): MaybePromise<Decision> {
    const now = this.#reporter.clock()
    if (verb === 'consume') this.#reporter.wake(now)
    const { unreadable } = this.#reporter.processes
    const local = verb === 'consume' && !unreadable && !this.#isLarge(costs)
    const shares = local ? this.#sharesOf(keys, now) : undefined
    if (shares === undefined) return this.#decideExactly(verb, keys, costs, options)
    this.#outage.check(now)
    return this.#consume(shares, costs, now, options)
  }

  /** True for a cost that the part of one process may never hold, however long it waits. */
  #isLarge(costs: Costs): boolean {
    const { count } = this.#reporter.processes
    if (count === 1 || costs === 1) return false
    return this.#policies.some(({ burst, shadow }, n) => {
      const cost = typeof costs === 'number' ? costs : (costs[n] as number)
      return !shadow && cost > Math.max(1, burst / (2 * count))
    })
  }

  async #decideExactly(...[verb, keys, costs, options]: Parameters<Ledger['decide']>): Promise<Decision> {
    const decision = await this.#exact.decide(verb, keys, costs, options)
    for (const [n, scope] of this.#scopes.entries()) scope.mended(keys[n] as string)
    return decision
  }

  reserve(keys: readonly string[], costs: Costs, maxWait: number, options?: ReserveOptions): MaybePromise<Booking> {
    return this.#exact.reserve(keys, costs, maxWait, options)
  }

  reset(keys: readonly string[]): MaybePromise<void> {
    for (const [n, scope] of this.#scopes.entries()) scope.forget(keys[n] as string)
    return this.#exact.reset(keys)
  }

  /** This process refuses the key from now on, and the others after their next report. */
  async #block(keys: readonly (string | undefined)[], duration: number, reason: string | undefined): Promise<void> {
    const now = this.#reporter.clock()
    this.#setBlocks(keys, (scope) => ({ scope, wait: duration, until: now + duration, reason }))
    await this.#exact.block?.(keys, duration, reason)
  }

  async #unblock(keys: readonly (string | undefined)[]): Promise<void> {
    await this.#exact.unblock?.(keys)
    this.#setBlocks(keys, () => undefined)
  }

  #setBlocks(keys: readonly (string | undefined)[], blockOf: (scope: string) => CallBlock | undefined): void {
    const now = this.#reporter.clock()
    for (const [n, key] of keys.entries()) {
      const share = key === undefined ? undefined : this.#scopes[n]?.shareOf(key, now)
      share?.setBlock(blockOf(this.#scopeNames[n] as string))
    }
  }

  async #clear(): Promise<void> {
    for (const scope of this.#scopes) scope.forgetAll()
    await this.#exact.clear?.()
    for (const scope of this.#scopes) scope.forgetAll() // what was admitted meanwhile was reported to keys that are gone
  }

  /** The store's states, and what this process has admitted since its last report. */
  async #inspect(keys: readonly string[]): Promise<readonly KeptKey[]> {
    const kept = (await this.#exact.inspect?.(keys)) ?? []
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

  async #list(scope: string, from: unknown): Promise<KeyPage> {
    const { keys, next } = (await this.#exact.list?.(scope, from)) ?? { keys: [] }
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

  #consume(shares: readonly KeyShare[], costs: Costs, now: number, options: DecideOptions | undefined): Decision {
    const costOf = (index: number) => (typeof costs === 'number' ? costs : (costs[index] as number))
    const allowed = this.#places.map(({ scope, n }, index) => (shares[scope] as KeyShare).admits(n, costOf(index), now))
    const block = shares.map((share) => share.blockAt(now)).reduce(longerBlock)
    const enough = allowed.every((each, index) => each || (this.#policies[index] as Policy).shadow)
    const admitted = enough && block === undefined
    const byScope = shares.map((): number[] => [])
    for (const [index, { scope, n }] of this.#places.entries()) {
      ;(byScope[scope] as number[])[n] = admitted && !allowed[index] ? 0 : costOf(index)
    }
    for (const [scope, share] of shares.entries()) share.count(byScope[scope] as number[], admitted, now)
    const untilReport = this.#reporter.untilNext(now)
    const verdicts = this.#places.map(({ scope, n }, index): Verdict => {
      const share = shares[scope] as KeyShare
      const verdict = share.verdict(n, allowed[index] as boolean, costOf(index), now, untilReport)
      return options?.nextAfter
        ? { ...verdict, nextAfter: verdict.resetAfter > 0 ? Math.ceil(untilReport / 1000) : 0 }
        : verdict
    })
    const source = this.#reporter.isColdWithout(this.#outage) ? 'fallback' : 'store'
    const decision = join(admitted, verdicts, source, options?.at ? Math.floor(now / 1000) : undefined)
    return block === undefined ? decision : withBlock(decision, block, true)
  }
}

/** The demand is no policy of the limiter. */
function withoutDemand(kept: KeptKey): KeptKey {
  return { ...kept, states: kept.states.filter((state) => !isDemand(state)) }
}

function checkPolicy({ name, countRefused, algorithm }: Policy): void {
  const { punishes, leases, kind } = algorithm
  if (!countRefused && !punishes && !leases && !kind.startsWith('smooth')) return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `The mode 'optimistic' cannot decide the policy ${shown(name)} without asking the store: it has buckets, windows and logs, without ` +
      'countRefused. Give that policy to a limiter on another redisStore.',
  )
}
