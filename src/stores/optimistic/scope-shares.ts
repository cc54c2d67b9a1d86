import type { Policy } from '../../algorithms/algorithm.ts'
import { isBrokenRecord } from '../../errors.ts'
import type { Ledger, LedgerTerms } from '../store.ts'
import { demandPolicy } from './demand.ts'
import { KeyShare, type ShareTerms } from './key-share.ts'
import type { Outage } from './outage.ts'
import type { Reporter, Reports } from './reporter.ts'

/** Demand counts for so many periods. */
const periods = 5
/** The most keys of a scope that have a share here, at about 500 bytes each. */
const mostKeys = 100_000

/** The shares of the keys of one scope of a limiter. */
export class ScopeShares implements Reports {
  readonly policies: readonly Policy[]
  readonly #reporter: Reporter
  readonly #outage: Outage
  readonly #ledger: Ledger
  readonly #terms: ShareTerms
  readonly #shares = new Map<string, KeyShare>()

  /** @param policies those of the scope */
  constructor(terms: LedgerTerms, scope: string, policies: readonly Policy[], reporter: Reporter, outage: Outage) {
    const window = Math.ceil((periods * reporter.period) / 1000)
    this.policies = policies
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

  /** The share of a key; undefined if there are too many keys, or if the store has to say what is wrong with this one. */
  shareOf(key: string, now: number): KeyShare | undefined {
    const { count } = this.#reporter.processes
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

  /** To be called when the store has decided on a key. */
  mended(key: string): void {
    if (this.#shares.get(key)?.broken) this.#shares.delete(key)
  }

  /** Units that this process has admitted of a key since its last report, by the policy that has most. */
  unreported(key: string): number {
    return this.#shares.get(key)?.unreported ?? 0
  }

  forget(key: string): void {
    this.#shares.delete(key)
  }

  forgetAll(): void {
    this.#shares.clear()
  }

  /** Sends what is due, and forgets keys that are idle and full. */
  report(now: number): void {
    for (const [key, share] of this.#shares) {
      if (share.isDue) void this.#send(key, share, now)
      else if (share.isForgettable(now) && share.blockAt(now) === undefined) this.#shares.delete(key)
    }
  }

  async #send(key: string, share: KeyShare, now: number): Promise<void> {
    const sent = share.send(now)
    try {
      const costs = [...sent.admitted, sent.wanted]
      const details = { nextAfter: true, at: true }
      const decision = await this.#ledger.run({ verb: 'charge', keys: [key], costs, details })
      const { clock, processes } = this.#reporter
      share.answered(decision, sent, clock(), processes)
      this.#outage.reported()
    } catch (error) {
      share.failed(sent)
      // A broken record concerns its key alone.
      share.broken = isBrokenRecord(error)
      if (!share.broken) this.#outage.failed(error, this.#reporter.clock())
    }
  }
}
