import { isolatesRequests } from '#platform'
import { few, RequestWork } from './request-work.ts'
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
  /** The last few refunds that a request of Cloudflare Workers has begun. */
  readonly #work = new RequestWork()
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
    failing?.onNextResponse(this.#start)
    return failing !== undefined
  }

  readonly #start = (): void => {
    if (isolatesRequests) this.#runSome()
    else void this.#run()
  }

  /** Runs a few refunds, and then waits for the next response to a call. */
  #runSome(): void {
    const some = this.#work.isUnderWay ? [] : [...this.#refunds].filter((refund) => !this.#waits(refund)).slice(0, few)
    const [next] = this.#refunds
    if (next !== undefined && this.#refunds.size > some.length) this.#awaitAll(next.key)
    if (some.length === 0) return
    for (const refund of some) this.#refunds.delete(refund)
    void this.#work.run(() => Promise.all(some.map((refund) => this.#runOnce(refund))))
  }

  async #runOnce(refund: Refund): Promise<void> {
    try {
      await refund.run()
    } catch (error) {
      if (!isUncounted(error)) return
      this.#refunds.add(refund)
      this.#awaitAll(refund.key)
    }
  }

  #awaitAll(key: string): void {
    for (const breaker of this.#link.parts.of([key])) breaker.onNextResponse(this.#start)
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
