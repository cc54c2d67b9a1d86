import { memoryStore, RateLimiter } from 'headgate'

/** A clock that goes by the log, or by the simulation. Times are milliseconds since the epoch. */
export class VirtualClock {
  #microseconds = 0

  /** Whole microseconds: pass it to a store. */
  now = () => this.#microseconds

  set(milliseconds) {
    this.#microseconds = Math.round(milliseconds * 1000)
  }
}

/**
 * A limiter of one policy on a virtual clock, with states of its own: the code that will enforce the limit.
 * @param {import('headgate').Policy} policy
 * @param {VirtualClock} clock
 */
export function trialOf(policy, clock) {
  return new RateLimiter({ name: 'trial', policies: policy, store: memoryStore({ clock: clock.now }) })
}
