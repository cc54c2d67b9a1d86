import type { Breaker } from './breaker.ts'
import type { StoreLink } from './store-link.ts'

/** The most refunds that can wait. If another refund comes, the oldest refund is dropped. */
const maxRefunds = 10_000

/** A request that gives units of keys back to the store. */
interface Refund {
  readonly scopes: readonly string[]
  readonly keys: readonly string[]
  readonly run: () => Promise<unknown>
}

/**
 * Refunds that wait until the store responds again. In a store with shards, a refund waits only for the shards that decide on
 * its keys.
 */
export class DeferredRefunds {
  readonly #link: StoreLink
  readonly #refunds = new Set<Refund>()
  /**
   * The breakers for which this class waits: when the store behind a breaker responds the next time, the waiting refunds are
   * run.
   */
  readonly #awaited = new Set<Breaker>()
  #running = false
  #again = false

  constructor(link: StoreLink) {
    this.#link = link
  }

  /**
   * Runs the refund now if the breakers of its keys are closed. Otherwise runs the refund when the store behind these
   * breakers responds again. Each refund runs once, in order. A refund that fails is not repeated.
   */
  add(refund: Refund): void {
    const [oldest] = this.#refunds
    if (oldest !== undefined && this.#refunds.size >= maxRefunds) this.#refunds.delete(oldest)
    this.#refunds.add(refund)
    if (!this.#waits(refund)) void this.#run()
  }

  /** Drops the refunds of keys that were reset, because such keys have their full quota already. */
  forget(scopes: readonly string[], keys: readonly string[]): void {
    const concerns = (refund: Refund) =>
      scopes.some((scope, n) => refund.scopes.includes(scope) && refund.keys[refund.scopes.indexOf(scope)] === keys[n])
    for (const refund of this.#refunds) if (concerns(refund)) this.#refunds.delete(refund)
  }

  /** Drops all refunds, because all keys were cleared. */
  forgetAll(): void {
    this.#refunds.clear()
  }

  /** True if the breaker of one of the keys is open. */
  #waits({ keys }: Refund): boolean {
    const failing = this.#link.parts.of(keys).find(({ closed }) => !closed)
    if (failing === undefined) return false
    if (this.#awaited.has(failing)) return true
    this.#awaited.add(failing)
    failing.onNextResponse(() => {
      this.#awaited.delete(failing)
      void this.#run()
    })
    return true
  }

  /** Runs the refunds whose breakers are closed. */
  async #run(): Promise<void> {
    this.#again = true
    if (this.#running) return
    this.#running = true
    while (this.#again) {
      this.#again = false
      for (const refund of this.#refunds) {
        if (this.#waits(refund)) continue
        this.#refunds.delete(refund)
        await refund.run().catch(() => undefined)
      }
    }
    this.#running = false
  }
}
