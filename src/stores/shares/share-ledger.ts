import { newBan } from '../../algorithms/bans/index.ts'
import type { Costs, Details } from '../../algorithms/evaluation/index.ts'
import type { Policy } from '../../algorithms/index.ts'
import type { MaybePromise } from '../../common/index.ts'
import type { KeptKey } from '../../inspection/index.ts'
import { type Decision, join, type Verdict } from '../../policy/index.ts'
import {
  type Command,
  type Ledger,
  type LedgerTerms,
  type Outcome,
  type OutcomeOf,
  runPart,
  type Verb,
} from '../contract/index.ts'
import type { KeyShare } from './key-share.ts'
import type { Reporter } from './reporter.ts'
import type { ScopeShares } from './scope-shares.ts'

/** Where to find the share (units to admit) of a policy: the index of its scope, and the index `n` of the policy in this scope. */
interface Place {
  readonly scope: number
  readonly n: number
}

/** Admits calls by this process's share of each key (units that it may admit without the store). Every other call goes to the store. */
export class ShareLedger implements Ledger {
  readonly #exact: Ledger
  readonly #policies: readonly Policy[]
  readonly #reporter: Reporter<ScopeShares>
  readonly #scopes: readonly ScopeShares[]
  readonly #places: readonly Place[]

  /** @param shares what this process may admit, for each scope (kind of key) in order */
  constructor(terms: LedgerTerms, reporter: Reporter<ScopeShares>, shares: readonly ScopeShares[]) {
    const { policies, scopes } = terms
    this.#exact = reporter.store.open(terms)
    this.#policies = policies
    this.#reporter = reporter
    this.#scopes = shares
    this.#places = policies.map((policy) => {
      const scope = scopes.indexOf(policy.scope)
      return { scope, n: policies.filter((other) => other.scope === policy.scope).indexOf(policy) }
    })
  }

  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    return this.#run(command) as MaybePromise<OutcomeOf<V>>
  }

  #run(command: Command): MaybePromise<Outcome> {
    const { verb, alternatives } = command
    const keys = command.keys as readonly string[]
    if (verb === 'consume' && alternatives === undefined) return this.#consume(command as Command<'consume'>)
    if (verb === 'reset') for (const [n, scope] of this.#scopes.entries()) scope.forget(keys[n] as string)
    if (verb === 'ban') this.#ban(command as Command<'ban'>)
    if (verb === 'clear') return this.#clear(command)
    if (verb === 'inspect') return this.#inspect(command as Command<'inspect'>)
    if (verb === 'refund') return this.#refund(command as Command<'refund'>)
    if (verb === 'settle') return this.#giveBack(command)
    const decides = verb === 'peek' || verb === 'charge' || verb === 'reserve' || verb === 'consume'
    return decides ? this.#decideExactly(command) : this.#exact.run(command)
  }

  /**
   * Gives units back. Units that were not reported to the store yet go back to the share (units to admit) in this process. The other units
   * are given back in the store.
   */
  async #refund(command: Command<'refund'>): Promise<Decision> {
    const { keys, costs = 1, details } = command
    const own = this.#scopes.map((scope, n) => scope.known(keys[n] as string))
    const left = this.#places.map(({ scope, n }, index) => {
      return (this.#scopes[scope] as ScopeShares).giveBack(keys[scope] as string, n, costOf(costs, index))
    })
    const now = this.#reporter.clock()
    const shares = left.some((units) => units > 0) ? undefined : this.#sharesOf(keys)
    if (shares === undefined || shares.some((share) => share.isBanned(now))) {
      const giveBack = (windows: Command['windows']) => this.#giveBack({ ...command, costs: left, windows })
      return runPart(this.#policies, command, giveBack).catch((error) => {
        for (const [index, { scope, n }] of this.#places.entries()) {
          const units = costOf(costs, index) - (left[index] as number)
          own[scope]?.count(n, units) // a share that a reset has dropped meanwhile reports nothing
        }
        throw error
      }) as Promise<Decision>
    }
    for (const share of shares) share.forgetRefusals()
    return this.#decision(true, this.#verdicts(shares, now, details), command, now)
  }

  async #giveBack(command: Command): Promise<Outcome> {
    const outcome = await this.#decideExactly(command)
    for (const [n, scope] of this.#scopes.entries()) scope.forgetRefusals(command.keys[n] as string)
    return outcome
  }

  #consume(command: Command<'consume'>): MaybePromise<Decision> {
    const { keys, costs = 1, details, windows } = command
    const now = this.#reporter.clock()
    this.#reporter.wake()
    const shares = this.#sharesOf(keys)
    if (shares === undefined) return this.#decideExactly(command) as Promise<Decision>
    if (windows !== undefined) this.#noteCalendar(shares, command, windows)
    for (const key of keys) {
      const outage = this.#reporter.outageOf(key)
      if (!outage.isLong(now)) continue
      for (const share of shares) share.exceed()
      throw outage.error
    }
    if (shares.some((share) => share.isBanned(now))) return this.#pass(command, shares)
    if (this.#admit(shares, costs, now)) return this.#decision(true, this.#verdicts(shares, now, details), command, now)
    return this.#refuse(shares, command, now) ?? this.#pass(command, shares)
  }

  #noteCalendar(shares: readonly KeyShare[], { calendar }: Command, windows: NonNullable<Command['windows']>): void {
    for (const [scope, share] of shares.entries()) {
      share.calendar = calendar
      share.windows = windows.filter((_, index) => this.#places[index]?.scope === scope)
    }
  }

  /** Lets the store decide a call that needs more units than the share has left. A report of the units admitted so far is sent first. */
  async #pass(command: Command<'consume'>, shares: readonly KeyShare[]): Promise<Decision> {
    const { costs = 1 } = command
    const answer = this.#decideExactly(command)
    for (const share of shares) share.exceed()
    const decision = (await answer) as Decision
    if ('elsewhere' in decision) return decision
    if (decision.ban === undefined) this.#learn(decision, shares, costs)
    return decision
  }

  #learn({ allowed, policies }: Decision, shares: readonly KeyShare[], costs: Costs): void {
    const now = this.#reporter.clock()
    const byScope = shares.map((): Verdict[] => [])
    for (const [index, { scope, n }] of this.#places.entries()) {
      const verdict = policies[index] as Verdict
      ;(byScope[scope] as Verdict[])[n] = verdict
      if (allowed || verdict.allowed || verdict.shadow) continue
      ;(shares[scope] as KeyShare).refused(n, costOf(costs, index), verdict, now)
    }
    for (const [scope, share] of shares.entries()) share.learn(byScope[scope] as Verdict[], now)
  }

  /** Reports the units that this process has admitted for the keys, and then lets the store decide. */
  async #decideExactly(command: Command): Promise<Outcome> {
    const keys = command.keys as readonly string[]
    for (const [n, scope] of this.#scopes.entries()) {
      // `consume` with one cost comes here each time the share (units to admit here) is used up. This is frequent, so only the units of the
      // call's plan (set of policies) are reported. Other commands report the units of all plans.
      const onlyOwn = command.verb === 'consume' && command.alternatives === undefined
      scope.reportAhead(keys[n] as string, onlyOwn ? undefined : scope.plans)
    }
    const outcome = await this.#exact.run(command)
    this.#reporter.answered = true
    for (const [n, scope] of this.#scopes.entries()) {
      scope.mended(keys[n] as string)
      this.#reporter.outageOf(keys[n] as string).reported()
    }
    return outcome
  }

  /** Notes that the keys are banned. Other processes learn of the ban by the answer of the store to their next report. */
  #ban({ keys, ban }: Command<'ban'>): void {
    const { until } = newBan(this.#reporter.clock(), ban?.duration ?? 0, undefined)
    for (const [n, key] of keys.entries()) if (key !== undefined) this.#scopes[n]?.ban(key, until, ban?.extends)
    this.#reporter.wake()
  }

  async #clear(command: Command): Promise<undefined> {
    for (const scope of this.#scopes) scope.forgetAll()
    await this.#exact.run(command)
    for (const scope of this.#scopes) scope.forgetAll() // units admitted while `clear` ran were reported to keys that are now removed
  }

  /** The states in the store, with a note about the units that this process has admitted since its last report. */
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
      return { ...key, notes: [...(key.notes ?? []), period + own] }
    })
  }

  #sharesOf(keys: readonly string[]): readonly KeyShare[] | undefined {
    const shares: KeyShare[] = []
    for (const [n, scope] of this.#scopes.entries()) {
      const share = scope.shareOf(keys[n] as string)
      if (share === undefined) return undefined
      shares.push(share)
    }
    return shares
  }

  /** If all shares (units to admit here) have enough units, takes the costs from the shares and returns true. Otherwise returns false. */
  #admit(shares: readonly KeyShare[], costs: Costs, now: number): boolean {
    const suffice = this.#places.every(({ scope, n }, index) => {
      return (shares[scope] as KeyShare).admits(n, costOf(costs, index), now)
    })
    if (!suffice) return false
    for (const [index, { scope, n }] of this.#places.entries())
      (shares[scope] as KeyShare).count(n, costOf(costs, index))
    return true
  }

  /**
   * Refuses a call without the store, if the refusal follows from a refusal by the store since the last report. Otherwise returns
   * undefined, so that the store has to decide.
   */
  #refuse(shares: readonly KeyShare[], command: Command<'consume'>, now: number): Decision | undefined {
    const { costs = 1, details } = command
    const untilReport = this.#reporter.untilNext(now)
    let refused = false
    const verdicts = this.#verdicts(shares, now, details)
    for (const [index, { scope, n }] of this.#places.entries()) {
      const cost = costOf(costs, index)
      const refusal = (shares[scope] as KeyShare).refusal(n, cost, now, untilReport)
      if (refusal !== undefined) verdicts[index] = refusal
      // The store may refuse the call under this policy too, with a longer wait, so the store has to decide.
      else if (cost > (verdicts[index] as Verdict).remaining) return undefined
      refused ||= refusal !== undefined
    }
    if (!refused) return undefined
    return this.#decision(false, verdicts, command, now)
  }

  #verdicts(shares: readonly KeyShare[], now: number, details: Details | undefined): Verdict[] {
    return this.#places.map(({ scope, n }) => (shares[scope] as KeyShare).verdict(n, now, details?.nextAfter))
  }

  #decision(
    allowed: boolean,
    verdicts: readonly Verdict[],
    command: Command<'consume' | 'refund'>,
    now: number,
  ): Decision {
    const { keys, details } = command
    const source = this.#reporter.isCold(keys) ? 'fallback' : 'store'
    return join(allowed, verdicts, source, details?.at ? Math.floor(now / 1000) : undefined)
  }
}

function costOf(costs: Costs, index: number): number {
  return typeof costs === 'number' ? costs : (costs[index] as number)
}
