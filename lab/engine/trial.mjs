import { memoryStore, RateLimiter } from 'headgate'

/** A clock that the log or the simulation sets. Times are milliseconds since the epoch. */
export class VirtualClock {
  #microseconds = 0

  /** Whole microseconds: pass it to a store. */
  now = () => this.#microseconds

  set(milliseconds) {
    this.#microseconds = Math.round(milliseconds * 1000)
  }
}

/**
 * A limiter of one plan on a virtual clock, with its own states: the same code as in production.
 * @param {import('headgate').PlanLike} plan a policy, several, or a plan of a policy file with its penalty
 * @param {VirtualClock} clock
 */
export function trialOf(plan, clock) {
  const store = memoryStore({ clock: clock.now })
  const hasCandidate = typeof plan === 'object' && 'candidate' in plan // which would decide for nobody
  const alone = hasCandidate ? { ...plan, candidate: undefined } : plan
  return new RateLimiter({ name: 'trial', policies: 'unlimited', store }).withPlan(alone)
}
