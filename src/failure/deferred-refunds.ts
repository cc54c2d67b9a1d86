import { isolatesRequests, waitUntil } from '#platform'
import type { Breaker } from './breaker.ts'
import { isUncounted, type StoreLink } from './store-link.ts'

/** The most refunds that can wait until the store responds. If another refund comes, the oldest refund is dropped. */
const maxRefunds = 10_000

/** A request that gives units of a key back to the store. */
interface Refund {
  readonly scope: string
  readonly key: string
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
   * The breakers that this class listens to. When the store behind such a breaker responds, the waiting refunds run.
   */
  readonly #awaited = new Set<Breaker>()
  #running = false
  #again = false

  constructor(link: StoreLink) {
    this.#link = link
  }

  /**
   * Runs the refund now. If the last request to the store has failed, runs the refund when the store responds again. A refund that fails
   * runs again only if the error says that the store has certainly not executed the refund.
   */
  add(refund: Refund): void {
    const [oldest] = this.#refunds
    if (oldest !== undefined && this.#refunds.size >= maxRefunds) this.#refunds.delete(oldest)
    this.#refunds.add(refund)
    if (!this.#waits(refund)) this.#start()
  }

  /** Drops the refunds of keys that are reset, because such keys have their full quota already. Returns the dropped refunds. */
  forget(scopes: readonly string[], keys: readonly string[]): readonly Refund[] {
    const dropped = [...this.#refunds].filter(({ scope, key }) =>
      scopes.some((each, n) => each === scope && keys[n] === key),
    )
    for (const refund of dropped) this.#refunds.delete(refund)
    return dropped
  }

  /** Drops all refunds, because all keys were cleared. */
  forgetAll(): void {
    this.#refunds.clear()
  }

  /** True if the last request to the store has failed, so that the refund waits until the store responds again. */
  #waits({ key }: Refund): boolean {
    const failing = this.#link.parts.of([key]).find(({ doubtful }) => doubtful)
    if (failing !== undefined) this.#await(failing)
    return failing !== undefined
  }

  #await(breaker: Breaker): void {
    if (this.#awaited.has(breaker)) return
    this.#awaited.add(breaker)
    breaker.onNextResponse(() => {
      this.#awaited.delete(breaker)
      this.#start()
    })
  }

  #start(): void {
    if (isolatesRequests) this.#runNext()
    else void this.#run()
  }

  /**
   * Runs one refund, whose response then starts the next one. Cloudflare Workers need this, because they stop all work for a request that
   * has ended: the response to another request then starts the next refund.
   */
  #runNext(): void {
    const next = this.#next()
    if (next === undefined) return
    this.#refunds.delete(next)
    if (this.#refunds.size > 0) this.#awaitAll(next.key)
    const work = next.run().catch((error) => {
      if (!isUncounted(error)) return
      this.#refunds.add(next)
      this.#awaitAll(next.key)
    })
    waitUntil(work)
  }

  #next(): Refund | undefined {
    for (const refund of this.#refunds) if (!this.#waits(refund)) return refund
    return undefined
  }

  #awaitAll(key: string): void {
    for (const breaker of this.#link.parts.of([key])) this.#await(breaker)
  }

  /** Runs the refunds that need not wait, in order. A refund stays in the list while it runs, so that `forget` can drop it. */
  async #run(): Promise<void> {
    this.#again = true
    if (this.#running) return
    this.#running = true
    while (this.#again) {
      this.#again = false
      for (const refund of this.#refunds) {
        if (this.#waits(refund)) continue
        try {
          await refund.run()
          this.#refunds.delete(refund)
        } catch (error) {
          if (!isUncounted(error)) this.#refunds.delete(refund)
          else this.#awaitAll(refund.key)
        }
      }
    }
    this.#running = false
  }
}
