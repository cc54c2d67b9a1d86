import Bottleneck from 'bottleneck'
import { fixedWindow, gcra, slidingLog, smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'
import { RateLimiter as Limiter } from 'limiter'
import PQueue from 'p-queue'
import pThrottle from 'p-throttle'

/*
 * Libraries that make callers wait. Each is made for `limit` calls a second, all at once if it can, and returns a function that
 * runs another function in its slot.
 */

const second = 1000

/** The cost of waiting itself: a promise and a timer for each caller, without a limit. */
export const floors = {
  'a promise and a timer each': (_limit) => (task) =>
    new Promise((resolve) => setTimeout(() => resolve(task()), second)),
}

function headgate(policy) {
  return (limit) => {
    const pacer = new Pacer(policy(limit))
    return (task) => pacer.throttle(task)
  }
}

export const ours = {
  'headgate slidingLog': headgate((limit) => slidingLog({ limit, window: second })),
  'headgate gcra': headgate((limit) => gcra({ limit, window: second, burst: limit })),
  'headgate fixedWindow': headgate((limit) => fixedWindow({ limit, window: second })),
  'headgate smoothBursty': headgate((limit) => smoothBursty({ rate: limit })),
}

export const peers = {
  'p-throttle': (limit) => pThrottle({ limit, interval: second })((task) => task()),
  'p-throttle, strict': (limit) => pThrottle({ limit, interval: second, strict: true })((task) => task()),
  'p-queue': (limit) => {
    const queue = new PQueue({ intervalCap: limit, interval: second })
    return (task) => queue.add(task)
  },
  limiter: (limit) => {
    const limiter = new Limiter({ tokensPerInterval: limit, interval: second })
    return async (task) => {
      await limiter.removeTokens(1)
      return task()
    }
  },
  bottleneck: (limit) => {
    const limiter = new Bottleneck({
      reservoir: limit,
      reservoirRefreshAmount: limit,
      reservoirRefreshInterval: second,
    })
    return (task) => limiter.schedule(async () => task())
  },
}
