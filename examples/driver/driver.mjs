import {
  fixedWindow,
  gcra,
  memoryStore,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from 'headgate'
import { ManualClock } from 'headgate/testing'
import { phases } from '../../lab/engine/driver-phases.mjs'

/*
 * The classic way to show a limiter: a client that calls faster and faster meets a limit of 10 a second. Below the limit,
 * every call is admitted at once. Above it, calls are admitted at the rate of the limit.
 *
 * One client makes one call after the other. It tries a call when the call is due, or at once if the call before it was
 * admitted later than that. A refused call is tried again every 10 ms. A phase ends one interval after its last admission,
 * and the next phase starts there, with the state as it is. The clock is manual, so the times are exact and four minutes
 * of calls take a moment.
 */

/**
 * A limit of 10 a second by eight algorithms.
 * @param {{ countRefused?: boolean }} [options] options of all policies
 */
export function tenASecond(options = {}) {
  const limit = { limit: 10, window: '1s', ...options }
  return {
    'token bucket': tokenBucket(limit),
    'token bucket, interval refill': tokenBucket({ ...limit, refill: 'interval' }),
    'gcra, burst 1': gcra({ ...limit, burst: 1 }),
    'fixed window': fixedWindow(limit),
    'fixed window, from the first request': fixedWindow({ ...limit, align: 'first-request' }),
    'sliding window': slidingWindow(limit),
    'segmented window': segmentedWindow(limit),
    'sliding log': slidingLog(limit),
  }
}

/** How long the client waits before it tries a refused call again, in milliseconds. */
const pause = 10

/**
 * Drives one policy through all phases. With `countRefused` this never ends for most policies. A refused call is tried
 * 100 times a second, and each try counts against a limit of 10 a second, so no later try is admitted.
 *
 * - A bucket drains a tenth of a unit in 10 ms, and the refused try fills it again.
 * - A log always holds the last ten tries, none of them older than 100 ms.
 * - A sliding or segmented window counts about a hundred tries in any second, ten times its limit.
 *
 * Fixed windows and interval refill are the exception. A refused try counts until its window ends, and the next window
 * starts with its full quota, so the times are the same as without `countRefused`.
 *
 * @param {import('headgate').Policy} policy
 * @param {{ giveUp?: number }} [options] how many refusals of one call end the drive
 * @returns {{ calls: number, wanted: number, seconds: number, rate: number }[]} a row for each phase that was completed
 */
export function drive(policy, { giveUp = Infinity } = {}) {
  const clock = new ManualClock()
  const limiter = new RateLimiter({ policies: policy, store: memoryStore({ clock: clock.now }) })
  const rows = []
  for (const { calls, wanted } of phases) {
    const interval = 1000 / wanted
    const start = clock.milliseconds
    for (let n = 0; n < calls; n++) {
      clock.set(Math.max(clock.milliseconds, start + n * interval))
      for (let refused = 0; !limiter.consumeSync('client').allowed; refused++) {
        if (refused === giveUp) return rows
        clock.advance(pause)
      }
    }
    clock.advance(interval)
    const seconds = (clock.milliseconds - start) / 1000
    rows.push({ calls, wanted, seconds, rate: calls / seconds })
  }
  return rows
}
