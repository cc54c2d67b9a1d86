import { newReservationId } from '../../../algorithms/evaluation/index.ts'
import type { Policy } from '../../../algorithms/index.ts'
import { isBrokenRecord } from '../../../common/index.ts'
import type { Ledger, LedgerTerms } from '../../contract/index.ts'
import { demandPolicy } from './demand.ts'
import { KeyShare, type ShareTerms } from './key-share.ts'
import type { Outage } from './outage.ts'
import type { Reporter, Reports } from './reporter.ts'

/** Demand is counted over so many periods. */
const periods = 5
/** The most keys of a scope that have a share in this process, at about 500 bytes each. */
const mostKeys = 100_000
/** How long, at least, the store remembers the number of a report, in microseconds: a report sent twice counts once. */
const shortestMemory = 120_000_000

/** The shares of the keys of one scope of a limiter. */
export class ScopeShares implements Reports {
  readonly policies: readonly Policy[]
  readonly #reporter: Reporter
  readonly #outage: Outage
  readonly #ledger: Ledger
  readonly #terms: ShareTerms
  readonly #shares = new Map<string, KeyShare>()
  /** Names this object as the sender of its reports: no other process, limiter or plan has the same id. */
  readonly #sender = newReservationId().toString(36)
  /** The number of the last report of any key. If a key is forgotten and comes back, its numbers still go up. */
  #number = 0
  readonly #instances: number

  /** @param instances how many processes share the limits, as configured */
  constructor(terms: LedgerTerms, scope: string, reporter: Reporter, outage: Outage, instances: number) {
    const policies = terms.policies.filter((policy) => policy.scope === scope)
    const window = Math.ceil((periods * reporter.period) / 1000)
    this.policies = policies
    this.#instances = instances
    this.#reporter = reporter
    this.#outage = outage
    this.#terms = { policies, demandWindow: window * 1000, random: Math.random }
    this.#ledger = reporter.store.open({
      ...terms,
      policies: [...policies, demandPolicy(scope, window)],
      scopes: [scope],
    })
    reporter.add(this)
  }

  get size(): number {
    return this.#shares.size
  }

  /** The share of a key; undefined if there are too many keys, or if the key's record is broken. */
  shareOf(key: string, now: number): KeyShare | undefined {
    const count = this.#reporter.processes.atLeast(this.#instances)
    const share = this.#shares.get(key)
    if (share !== undefined) {
      share.refresh(now, count)
      return share.broken ? undefined : share
    }
    if (this.#shares.size >= mostKeys) return undefined
    const created = new KeyShare(this.#terms, count)
    this.#shares.set(key, created)
    return created
  }

  /** Call it when the store has decided on a key. */
  mended(key: string): void {
    if (this.#shares.get(key)?.broken) this.#shares.delete(key)
  }

  /** Units of a key that this process admitted since its last report, under the policy that has most. */
  unreported(key: string): number {
    return this.#shares.get(key)?.unreported ?? 0
  }

  forget(key: string): void {
    this.#shares.delete(key)
  }

  forgetAll(): void {
    this.#shares.clear()
  }

  /** Sends the reports that are due, and forgets idle keys with their full quota. */
  report(now: number): void {
    for (const [key, share] of this.#shares) {
      if (share.isDue) void this.#send(key, share, now)
      else if (share.isForgettable(now) && share.banAt(now) === undefined) this.#shares.delete(key)
    }
  }

  async #send(key: string, share: KeyShare, now: number): Promise<void> {
    const sent = share.send(now, ++this.#number)
    const { number, admitted, wanted } = sent
    const life = Math.max(shortestMemory, 3 * this.#reporter.period)
    try {
      const costs = [...admitted, wanted]
      const report = { by: this.#sender, number, life }
      const details = { nextAfter: true, at: true }
      const decision = await this.#ledger.run({ verb: 'charge', keys: [key], costs, report, details })
      const { clock, processes } = this.#reporter
      share.answered(decision, sent, clock(), processes)
      this.#reporter.answered = true
      this.#outage.reported(key)
    } catch (error) {
      share.failed()
      // A broken record is an error of its key alone.
      share.broken = isBrokenRecord(error)
      if (!share.broken) this.#outage.failed(key, error, this.#reporter.clock())
    }
  }
}
