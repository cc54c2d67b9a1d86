/*
 * Decides when to ask again for units in flight. A refusal by `concurrency` says when a unit is free at the latest:
 * when the first lease ends. Mostly a unit is released much sooner.
 *
 * After a release in this process, the queue of that key asks again at once. A release in another process is found by
 * polling. The time between two polls has a random part, so processes do not ask together. It doubles twice while the
 * store refuses:
 *
 *     refused   |-- poll --|-- 2 poll --|---- 4 poll ----|---- 4 poll ----|     each of half to full length
 *
 * A busy process would take each unit that it frees again, before other processes ask. So now and then it leaves the
 * units that it frees to other processes, until each of them has asked once. This costs the process at most 5 per cent
 * of its time.
 */
import type { Decision, Verdict } from '../policy/index.ts'
import type { PacerLedger } from './pacer-ledger.ts'

/** The longest time between two polls, as a multiple of the shortest. */
const slowest = 4
/** How long units are left to other processes, and how often. The unit is the longest time between two polls. */
const turnsOfOthers = 1
const ownTurns = 19

export interface Polling {
  /** The shortest time between two polls, in microseconds. */
  readonly poll: number
  /** Returns a number from 0 up to 1. */
  readonly random: () => number
}

/** All times are microseconds. */
export class PollTimes {
  readonly #units: PacerLedger
  readonly #polling: Polling
  /** How many requests were refused since the last one that was granted. */
  #refusals = 0
  /** When all policies but `concurrency` admit the first waiter. */
  #readyAt = 0
  /** Until when units freed here are left to other processes, and when that begins next. */
  #othersUntil = 0
  #othersFrom = 0

  constructor(units: PacerLedger, polling: Polling) {
    this.#units = units
    this.#polling = polling
  }

  granted(): void {
    this.#refusals = 0
  }

  /** The shortest wait after a refusal: the wait if all units in flight were released now. */
  shortest({ policies, retryAfter }: Decision): number {
    const counted = ({ name }: Verdict) =>
      this.#units.policies.some((policy) => policy.name === name && policy.algorithm.leases)
    const inFlight = longest(policies.filter(counted))
    return 1000 * (inFlight === 0 ? retryAfter : longest(policies.filter((verdict) => !counted(verdict))))
  }

  /** The time to wait after a refusal. */
  next(decision: Decision, now: number): number {
    const least = this.shortest(decision)
    const most = decision.retryAfter * 1000
    this.#readyAt = now + least
    if (least === most) return least
    if (this.#units.exclusive) return most
    const interval = this.#polling.poll * Math.min(slowest, 2 ** this.#refusals++)
    return Math.min(most, Math.max(least, Math.ceil(interval * (1 - this.#polling.random() / 2))))
  }

  /** When to ask after a release in this process. */
  afterRelease(now: number): number {
    if (this.#units.exclusive) return this.#readyAt
    const turn = slowest * this.#polling.poll
    if (now >= this.#othersFrom) {
      if (this.#othersFrom > 0) this.#othersUntil = now + turnsOfOthers * turn
      this.#othersFrom = now + (turnsOfOthers + ownTurns) * turn
    }
    return Math.max(this.#readyAt, this.#othersUntil)
  }
}

/** In milliseconds. */
function longest(verdicts: readonly Verdict[]): number {
  return Math.max(0, ...verdicts.filter(({ shadow }) => !shadow).map(({ retryAfter }) => retryAfter))
}
