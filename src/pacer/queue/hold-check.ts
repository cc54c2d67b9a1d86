/*
 * Asks the store whether another process holds the key, before a call starts at a slot that was booked ahead.
 *
 * The answer says what the store knew at some time after the question was sent. So a call starts only if the question was sent at most
 * about one round trip before. The question is sent ahead of the slot, so that the call starts in time:
 *
 *     question |--- round trip ---| answer
 *              |                  |  slot      slot                slot
 *     counts   |---- round trip and 2 ms ----|                      |
 *                                 starts      question, then starts
 *
 * The store's answer to a booking also shows that no process holds the key, so it saves a question. One question is in flight at a time.
 * All calls whose slots have come start when the question is answered. So the store gets at most one question for each slot, and at most
 * one in a round trip.
 */
import { isPromise, type LinkedList } from '../../common/index.ts'
import type { Decision, Source } from '../../policy/index.ts'
import type { Task } from '../timers/index.ts'
import type { Slot } from './booked-slot.ts'
import type { Queue } from './queue.ts'
import { obeyHold } from './shared-hold.ts'

/** For how many microseconds an answer stays valid beyond the round trip. Timers are late by about this time. */
const timerLate = 2000
/** The longest expected round trip, in microseconds. A longer round trip delays calls: no call starts before its slot. */
const longestTrip = 100_000
/** After a failure of the store, the next question comes after this time at the latest, in microseconds. */
const retryAfter = 500_000
/** The rank with which the scheduler orders tasks of the same time: the question is sent before the slot is used. */
const beforeSlots = -1

export class HoldCheck {
  readonly #queue: Queue
  readonly #slots: LinkedList<Slot>
  readonly #start: (slot: Slot) => void
  readonly #onAnswer: (source: Source | undefined) => void
  /** The slots (booked start times) whose time has come and that wait for the store's answer, earliest first. */
  readonly #due = new Set<Slot>()
  /** What waits for the store's answer beside slots. */
  #confirmed: (() => void) | undefined
  #asking = false
  /** True if the last question failed. Calls then start at their slots (booked times) without an answer of the store. */
  #failing = false
  /** When the last question that the store has answered was sent, in microseconds. */
  #askedAt = -Infinity
  /** The round trip of the last answered question, in microseconds. */
  #trip = 0
  /** When a call that is late may start, in microseconds. Infinity if none was late yet. */
  #lateAt = Infinity
  #next: Task | undefined

  /**
   * @param start uses a slot (booked units) whose time has come
   * @param onAnswer is called with the source of each answer of the store; undefined if a question failed
   */
  constructor(
    queue: Queue,
    slots: LinkedList<Slot>,
    start: (slot: Slot) => void,
    onAnswer: (source: Source | undefined) => void,
  ) {
    this.#onAnswer = onAnswer
    this.#queue = queue
    this.#slots = slots
    this.#start = start
  }

  /** Called when the time of a slot (booked units) has come. */
  readonly add = (slot: Slot): void => {
    if (this.#failing || this.#countsAt(this.#queue.now)) this.#start(slot)
    else {
      this.#due.add(slot)
      this.#ask()
    }
    this.schedule()
  }

  /**
   * Lets calls that are late start by `go` when no process holds the key. An answer counts for two round trips here, because another
   * question is under way meanwhile. Otherwise, one call would start in each round trip.
   */
  confirm(go: () => void): void {
    this.#confirmed = go
    const { now } = this.#queue
    if (this.#failing || this.#countsAt(now - this.#trip)) {
      this.#lateAt = now
      this.schedule()
      this.#startDue()
    } else this.#ask()
  }

  /** True unless the store has failed to answer the last question or booking. */
  get answers(): boolean {
    return !this.#failing
  }

  /** Called when a slot (booked units) was given back. */
  remove(slot: Slot): void {
    this.#due.delete(slot)
    if (this.#slots.first === undefined) this.cancel()
  }

  #countsAt(time: number): boolean {
    return time - this.#askedAt <= this.#trip + timerLate
  }

  /**
   * Plans the next question: one round trip before the first slot (booked start) at which the last answer is too old. After a failure of
   * the store, the question comes soon, also for calls that are late.
   * @param late when a call that is late may start, in microseconds. Default: the last such time
   */
  schedule(late: number = this.#lateAt): void {
    this.#lateAt = late
    if (this.#asking || this.#next?.pending || this.#slots.first === undefined) return
    const { context, now } = this.#queue
    let at = this.#failing || this.#queue.spacing?.storeFails ? now + retryAfter : Infinity
    const trip = Math.ceil(this.#trip / 1000) * 1000
    if (late < Infinity && !this.#countsAt(late)) at = Math.min(at, late - trip)
    for (const slot of this.#slots) {
      if (this.#due.has(slot) || this.#countsAt(slot.at)) continue
      at = Math.min(at, slot.at - trip)
      break
    }
    if (at < Infinity) this.#next = context.scheduler.at(at, () => this.#ask(), beforeSlots)
  }

  cancel(): void {
    this.#queue.context.scheduler.remove(this.#next)
  }

  #ask(): void {
    if (this.#asking || this.#slots.first === undefined) return
    const { context, keys, now } = this.#queue
    this.cancel()
    this.#asking = true
    const answer = context.units.look(keys)
    const ended = (decision: Decision | undefined) => {
      this.#asking = false
      if (decision !== undefined && obeyHold(this.#queue, decision)) return
      this.answered(now, decision)
      this.#startDue()
      this.schedule()
    }
    if (isPromise(answer)) this.#queue.request(answer, ended, () => ended(undefined))
    else ended(answer)
  }

  #startDue(): void {
    const confirmed = this.#confirmed
    this.#confirmed = undefined
    confirmed?.()
    for (const slot of this.#due) {
      this.#due.delete(slot)
      slot.local ||= this.#failing
      this.#start(slot)
    }
  }

  /**
   * Notes the answer to a question or to a booking: no process holds the key, or the store failed.
   * @param sent when the question or the booking was sent, in microseconds @param decision undefined if the store failed
   */
  answered(sent: number, decision: Decision | undefined): void {
    this.#failing = decision?.source !== 'store'
    this.#onAnswer(decision?.source)
    if (this.#failing) this.#startDue()
    this.#askedAt = Math.max(this.#askedAt, sent)
    this.#trip = Math.min(longestTrip, this.#queue.now - sent)
  }
}
