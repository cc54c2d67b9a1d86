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

/*
 * The classic way to show a limiter: a client that asks ever faster meets a limit of 10 a second. As long as it keeps
 * below the limit it gets what it asks for; beyond it, the rate that comes out is the limit's, whatever the client does.
 *
 * One client, one call after the other. A call is tried when it is due, or at once if the call before it was admitted
 * later than that; refused, it tries again every 10 ms. A phase lasts from its start to its last admission and one
 * interval on (the client's pause after a call), and the next phase starts there, with the state as it is then. The clock
 * is moved by hand, so four minutes of calls take a moment, and the times are exact.
 */

/** How many calls a phase makes, and how many a second it would like to make. */
export const phases = [
  { calls: 10, asked: 1 },
  { calls: 20, asked: 2 },
  { calls: 50, asked: 5 },
  { calls: 100, asked: 10 },
  { calls: 200, asked: 20 },
  { calls: 250, asked: 25 },
  { calls: 500, asked: 50 },
  { calls: 1000, asked: 100 },
]

/**
 * The same promise, kept in eight ways.
 * @param {{ countRefused?: boolean }} [options] for all of them
 */
export function tenASecond(options = {}) {
  const terms = { limit: 10, window: '1s', ...options }
  return {
    'token bucket': tokenBucket(terms),
    'token bucket, interval refill': tokenBucket({ ...terms, refill: 'interval' }),
    'gcra, burst 1': gcra({ ...terms, burst: 1 }),
    'fixed window': fixedWindow(terms),
    'fixed window, from the first request': fixedWindow({ ...terms, align: 'first-request' }),
    'sliding window': slidingWindow(terms),
    'segmented window': segmentedWindow(terms),
    'sliding log': slidingLog(terms),
  }
}

/** How long a refused call waits before it tries again, in milliseconds. */
const pause = 10

/**
 * Drives one policy through all phases. With `countRefused` this never ends for most policies: a refused call comes
 * again 100 times a second, each try counts against a limit of 10 a second, and so the first refusal is the last word.
 *
 * - A bucket loses a tenth of a unit in 10 ms, and the refused try fills it to the brim again.
 * - A log always holds the last ten tries, none of them older than 100 ms.
 * - A sliding or segmented window counts about a hundred tries in any second, ten times what it would admit.
 *
 * Fixed windows and interval refill are the exception: what is refused counts only until the window ends, the next one
 * starts with its full quota, and so the times are the same as without `countRefused`.
 *
 * @param {import('headgate').Policy} policy
 * @param {{ giveUp?: number }} [options] how many refusals in a row, of one call, end the drive
 * @returns {{ calls: number, asked: number, seconds: number, rate: number }[]} a row for each phase that came to its end
 */
export function drive(policy, { giveUp = Infinity } = {}) {
  const clock = new ManualClock()
  const limiter = new RateLimiter({ policies: policy, store: memoryStore({ clock: clock.now }) })
  const rows = []
  for (const { calls, asked } of phases) {
    const interval = 1000 / asked
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
    rows.push({ calls, asked, seconds, rate: calls / seconds })
  }
  return rows
}
