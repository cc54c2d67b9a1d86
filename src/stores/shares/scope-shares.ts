import { newReservationId } from '../../algorithms/evaluation/index.ts'
import { type Policy, unshown } from '../../algorithms/index.ts'
import { isBrokenRecord, ownText } from '../../common/index.ts'
import { type CheckedLedger, type LedgerTerms, withCalendars, withThresholds } from '../contract/index.ts'
import { KeyShare } from './key-share.ts'
import type { Reporter, Reports } from './reporter.ts'

/** The most keys of a scope (kind of key) that have a share (units to admit) in this process, at about 500 bytes each. */
const mostKeys = 100_000
/**
 * The shortest time for which the store remembers the number of a report, in microseconds. By this number, the store counts a
 * report only once if the report is sent again.
 */
const shortestMemory = 120_000_000

/**
 * The shares of keys in one scope (kind of key) under one plan (set of policies). A share is the units that this process may admit without
 * the store. The keys can be in all shards of the store.
 */
export class ScopeShares implements Reports {
  /** The name of the limiter, and the scope (kind of key). All plans (sets of policies) of the limiter share the states. */
  readonly name: string
  readonly policies: readonly Policy[]
  /** The policies as a text: plans (sets of policies) with the same text use the same shares (units to admit here). */
  readonly text: string
  readonly #instances: number
  readonly #reporter: Reporter<ScopeShares>
  readonly #ledger: CheckedLedger
  readonly #shares = new Map<string, KeyShare>()
  /** The sender's id in reports. No other process, limiter or plan (set of policies) has the same id. */
  readonly sender: string = newReservationId().toString(36)
  /**
   * The number of the last report. Reports of all keys have one sequence of numbers, so a key that is forgotten and comes back
   * gets higher numbers than before.
   */
  #number = 0

  /** @param instances how many processes share the limits */
  constructor(terms: LedgerTerms, scope: string, reporter: Reporter<ScopeShares>, instances: number) {
    this.name = `${terms.name}\n${scope}`
    this.policies = terms.policies.filter((policy) => policy.scope === scope)
    this.text = JSON.stringify(this.policies.map(unshown))
    this.#instances = instances
    this.#reporter = reporter
    const own = { ...terms, policies: this.policies, scopes: [scope] }
    this.#ledger = withCalendars(withThresholds(reporter.store.open(own), own), this.policies)
  }

  get size(): number {
    return this.#shares.size
  }

  /**
   * The share of a key (units that this process may admit). Undefined if there are too many keys, or if the stored value of the key cannot
   * be read.
   */
  shareOf(key: string): KeyShare | undefined {
    const share = this.#shares.get(key)
    if (share !== undefined) return share.broken ? undefined : share
    if (this.#shares.size >= mostKeys) return undefined
    const created = new KeyShare(this.policies, this.#instances)
    for (const plan of this.#reporter.plansOf(this.name)) created.ban(plan.#shares.get(key)?.bannedUntil ?? 0)
    if (this.size === 0) this.#reporter.add(this)
    this.#shares.set(ownText(key), created)
    return created
  }

  /** These shares (units to admit), and the shares of the limiter's other plans (sets of policies) under which this process has keys. */
  get plans(): Iterable<ScopeShares> {
    return new Set([this, ...this.#reporter.plansOf(this.name)])
  }

  /**
   * Bans the key under all plans (sets of policies).
   * @param until the end of the ban, in microseconds of the local clock @param keeps true if a ban that ends later stays
   */
  ban(key: string, until: number, keeps = false): void {
    const known = this.shareOf(key)?.bannedUntil ?? 0
    for (const plan of this.plans) plan.#shares.get(key)?.ban(keeps ? Math.max(known, until) : until)
  }

  /** Removes the key's refusals under all plans (sets of policies). Call this method after a command that may give units back. */
  forgetRefusals(key: string): void {
    for (const plan of this.plans) plan.#shares.get(key)?.forgetRefusals()
  }

  /** The share (units to admit here) of a key. Undefined if the key has none. */
  known(key: string): KeyShare | undefined {
    return this.#shares.get(key)
  }

  /**
   * Gives back units under the policy at index `n` that this process has not reported to the store yet. Returns how many of the units the
   * caller has to give back in the store.
   */
  giveBack(key: string, n: number, units: number): number {
    return this.#shares.get(key)?.giveBack(n, units) ?? units
  }

  /**
   * Removes the share (units to admit here) of a key whose stored value could not be read, so that the key gets a new share. Called when
   * the store has decided a call of the key, which shows that the value can be read again.
   */
  mended(key: string): void {
    if (this.#shares.get(key)?.broken) this.#shares.delete(key)
  }

  /** How many units of a key this process has admitted and the store has not counted yet, under the policy with the largest such number. */
  unreported(key: string): number {
    return this.#shares.get(key)?.unreported ?? 0
  }

  forget(key: string): void {
    for (const plan of this.plans) plan.#shares.delete(key)
  }

  forgetAll(): void {
    for (const plan of this.plans) plan.#shares.clear()
  }

  /** Sends the reports that are due, and removes keys that have their full quota. */
  report(now: number): void {
    for (const [key, share] of this.#shares) {
      if (share.isDue) void this.#send(key, share)
      else if (share.isForgettable(now)) this.#shares.delete(key)
    }
  }

  /** Sends the report of a key now, because the store is about to decide a call with this key. */
  reportAhead(key: string, plans: Iterable<ScopeShares> = [this]): void {
    for (const plan of plans) {
      const share = plan.#shares.get(key)
      if (share !== undefined && share.unreported > 0 && share.isDue) void plan.#send(key, share)
    }
  }

  async #send(key: string, share: KeyShare): Promise<void> {
    const sent = share.ask(++this.#number)
    const outage = this.#reporter.outageOf(key)
    try {
      const { report } = sent
      const details = { at: true, nextAfter: true }
      const life = Math.max(shortestMemory, 3 * this.#reporter.period)
      const { calendar, windows } = share
      const decision = await this.#ledger.run(
        report === undefined
          ? { verb: 'peek', keys: [key], details, calendar, windows }
          : {
              verb: 'charge',
              keys: [key],
              costs: report.admitted,
              report: { by: this.sender, number: report.number, life },
              details,
              calendar,
              windows,
            },
      )
      share.answered(decision, sent, this.#reporter.clock())
      this.#reporter.answered = true
      outage.reported()
    } catch (error) {
      share.failed()
      // A broken stored value affects only this key. Any other error means that the store fails.
      share.broken = isBrokenRecord(error)
      if (share.broken) outage.reported()
      else outage.failed(error, this.#reporter.clock())
    }
  }
}
