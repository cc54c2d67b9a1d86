import { waitUntil } from '#platform'
import { monotonicClock } from '../common/index.ts'

/** After this time, in microseconds, Cloudflare Workers have stopped all work for a request that has ended. */
const longestWork = 30_000_000

/** For how many keys a request of Cloudflare Workers sends requests to the store in the background. Workers limit this number. */
export const few = 8

/**
 * Work that a request of Cloudflare Workers does for later requests too. Workers stop all work for a request that has ended, so no other
 * request waits for this work. Another request begins it again if it has not ended after the longest time.
 */
export class RequestWork {
  /** When the work began, in microseconds. Undefined if it has ended. */
  #begun: number | undefined

  /** True if the work may be under way in a request. */
  get isUnderWay(): boolean {
    return this.#begun !== undefined && monotonicClock() - this.#begun < longestWork
  }

  /** Begins the work, and keeps the worker alive until it has ended. */
  run<Result>(begin: () => Promise<Result>): Promise<Result> {
    this.#begun = monotonicClock()
    const ended = begin().finally(() => {
      this.#begun = undefined
    })
    waitUntil(ended.catch(() => undefined))
    return ended
  }
}
