import type { Breaker } from './breaker.ts'

/** The most refunds kept. Beyond this number the oldest refund is dropped. */
const maxRefunds = 10_000

/** A request to the store that gives back units of these keys. */
interface Refund {
  readonly scopes: readonly string[]
  readonly keys: readonly string[]
  readonly run: () => Promise<unknown>
}

/** Refunds that wait until the store responds again. */
export class DeferredRefunds {
  readonly #breaker: Breaker
  #refunds: Refund[] = []
  /** True if `#run` is under way or called back later. */
  #scheduled = false

  constructor(breaker: Breaker) {
    this.#breaker = breaker
  }

  /**
   * Runs the refund now if the breaker is closed, else later. Each refund runs once, in order. A refund that fails is dropped.
   */
  add(refund: Refund): void {
    if (this.#refunds.length >= maxRefunds) this.#refunds.shift()
    this.#refunds.push(refund)
    if (this.#scheduled) return
    this.#scheduled = true
    if (this.#breaker.closed) void this.#run()
    else this.#breaker.onNextResponse(() => void this.#run())
  }

  /** Drops the refunds of keys that were reset: such keys have their full quota again. */
  forget(scopes: readonly string[], keys: readonly string[]): void {
    const concerns = (refund: Refund) =>
      scopes.some((scope, n) => refund.scopes.includes(scope) && refund.keys[refund.scopes.indexOf(scope)] === keys[n])
    if (this.#refunds.length > 0) this.#refunds = this.#refunds.filter((refund) => !concerns(refund))
  }

  /** Runs the refunds until the breaker opens. */
  async #run(): Promise<void> {
    let refund = this.#refunds.shift()
    while (refund !== undefined) {
      await refund.run().catch(() => undefined)
      refund = this.#breaker.closed ? this.#refunds.shift() : undefined
    }
    this.#scheduled = this.#refunds.length > 0
    if (this.#scheduled) this.#breaker.onNextResponse(() => void this.#run())
  }
}
