/*
 * Decides when a waiting call asks the store again. A refusal by `concurrency` says when a unit is free at the latest: when the first
 * lease ends. Mostly a unit is released much sooner.
 *
 * After a release in this process, the queue of the key asks again at once. A release in another process is found by polling. The time
 * between two polls has a random part, so that processes do not ask at the same moment. While the store refuses, the time between two polls
 * doubles twice:
 *
 *     refused   |-- poll --|-- 2 poll --|---- 4 poll ----|---- 4 poll ----|     each wait has 50 to 100 % of this length
 *
 * Without a pause, a busy process would take back each unit that it releases, before other processes ask. So from time to time the process
 * takes no unit until each other process has asked once. These pauses are at most 5 per cent of the time.
 *
 * A refusal by the other policies says exactly when a unit is free. All processes would ask at that moment, and the process nearest to the
 * store would take each unit. So a process asks a little later, by a random time, the shorter the more often it was refused.
 */
import type { Decision, Verdict } from '../policy/index.ts'
import type { PacerLedger } from './pacer-ledger.ts'

/** The longest time between two polls, as a multiple of the shortest time. */
const slowest = 4
/**
 * For how many turns released units are left to other processes (`turnsOfOthers`), and for how many turns this process then takes them. A
 * turn is as long as the longest time between two polls.
 */
const turnsOfOthers = 1
const ownTurns = 19
/** A process asks later than a refusal says by at most this part of the wait, and of the time that is left: 1 / `part`. */
const part = 8

export interface Polling {
  /** The shortest time between two polls, in microseconds. */
  readonly poll: number
  /** Returns a random number from 0 up to 1. */
  readonly random: () => number
}

/** Computes when a queue asks the store again. All times are microseconds. */
export class PollTimes {
  readonly #units: PacerLedger
  readonly #polling: Polling
  /** How many requests to the store were refused since the last request that was granted. */
  #refusals = 0
  /** The time from which all policies admit the first waiting call, apart from policies with `concurrency`. */
  #readyAt = 0
  /**
   * Until this time, units that this process releases are left to other processes. The first release after `#othersFrom` begins
   * the next such period.
   */
  #othersUntil = 0
  #othersFrom = 0

  constructor(units: PacerLedger, polling: Polling) {
    this.#units = units
    this.#polling = polling
  }

  granted(): void {
    this.#refusals = 0
  }

  /** The shortest useful wait after a refusal: the wait under the policies that do not count units in flight (of running calls). */
  shortest({ policies, retryAfter }: Decision): number {
    const counted = ({ name }: Verdict) =>
      this.#units.policies.some((policy) => policy.name === name && policy.algorithm.leases)
    const inFlight = longest(policies.filter(counted))
    return 1000 * (inFlight === 0 ? retryAfter : longest(policies.filter((verdict) => !counted(verdict))))
  }

  /** How long to wait after a refusal before the next request. @param timeLeft how long the call may wait */
  next(decision: Decision, now: number, timeLeft: number): number {
    const least = this.shortest(decision)
    const most = decision.retryAfter * 1000
    this.#readyAt = now + least
    if (this.#units.exclusive) return most
    const { poll, random } = this.#polling
    const refusals = this.#refusals++
    if (least === most) {
      const later = Math.min(least / part, poll, (timeLeft - least) / part)
      return least + Math.floor((later * random()) / (refusals + 1))
    }
    return Math.min(most, Math.max(least, Math.ceil(poll * Math.min(slowest, 2 ** refusals) * (1 - random() / 2))))
  }

  /** The time of the next request after a release of units in this process. */
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

/** The longest wait of these verdicts, in milliseconds, without shadow policies, which refuse no call. */
function longest(verdicts: readonly Verdict[]): number {
  return Math.max(0, ...verdicts.filter(({ shadow }) => !shadow).map(({ retryAfter }) => retryAfter))
}
