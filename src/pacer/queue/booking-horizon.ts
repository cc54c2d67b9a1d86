/*
 * Decides how far ahead a pacer books slots (start times of calls) in a store that processes share. If a process is killed, its slots stay
 * booked, and other processes wait until these slots are over. So slots are booked only for a short time ahead, and later calls wait in
 * this process without a slot.
 *
 *     now          half           horizon
 *     |  booked     |  booked      |              the calls behind wait without a slot
 *     |             |<- when the last slot is this near, the next ones are booked
 *
 * If other processes book too, the last slot of a process may be further away than the horizon. The process then books no more until its
 * last slot is near. A process without a slot always books one, so each process gets slots. A process also books a slot for a call if the
 * last answer of the store says that the call need not wait.
 */

import type { LinkedList } from '../../common/index.ts'
import type { Booking } from '../../stores/contract/index.ts'
import { mostOf } from '../pacer-cost.ts'
import type { Task } from '../timers/index.ts'
import type { Slot } from './booked-slot.ts'
import type { Queue } from './queue.ts'
import type { Waiter } from './waiter.ts'

/** So many calls may be undecided, also if `maxQueue` is smaller. The number bounds the memory while a store hangs. */
const leastUndecided = 1000
/** The most round trips for which calls stay undecided. */
const mostRounds = 8

export class BookingHorizon {
  readonly #queue: Queue
  readonly #slots: LinkedList<Slot>
  readonly #refill: () => void
  readonly #catchesUp: () => boolean
  #next: Task | undefined
  /** The units of all bookings (of start times) that were sent to the store and have no answer yet. */
  #pending = 0
  /** How many bookings (of start times) were sent to the store and have no answer yet. */
  #requests = 0
  /** Calls that came while the store was asked about earlier calls. `maxQueue` does not count these calls. */
  readonly undecided: Set<Waiter> = new Set()
  /** How many answers end the round trip for which `undecided` waits, and how many round trips it has waited for. */
  #answersDue = 0
  #rounds = 0
  /** How many more units the store admits without a wait, by the store's last answer to a booking (reserved units). */
  #free = 0

  /**
   * @param refill books slots (start times) for the calls that wait without a slot
   * @param catchesUp returns true after a failure of the store, until the slots of the failure are used. No slot is booked before
   */
  constructor(queue: Queue, slots: LinkedList<Slot>, refill: () => void, catchesUp: () => boolean) {
    this.#catchesUp = catchesUp
    this.#queue = queue
    this.#slots = slots
    this.#refill = refill
  }

  /** How far ahead slots (start times) are booked, in microseconds. Infinity for a store that no other process can reach. */
  get #horizon(): number {
    return this.#queue.context.horizon
  }

  /** When the last booked slot (start time) is, or now if no slot is booked. In microseconds. */
  get lastAt(): number {
    return Math.max(this.#queue.now, this.#slots.last?.at ?? 0)
  }

  /** True if a slot (start time) may be booked for this waiter now. @param othersWait true if calls already wait without a slot */
  admits(waiter: Waiter, othersWait: boolean): boolean {
    // A refused call lets a blocked function enter the queue while slots are booked for the waiting calls, which came earlier.
    if (this.#horizon === Infinity) return !othersWait
    // If the store can have no slot (start time) before the waiter's timeout, ask the store anyway: the waiter is refused now, and does not
    // wait in vain. Otherwise, the waiter must not overtake calls that came before.
    const { timeLeft } = waiter
    if (othersWait) return timeLeft <= this.lastAt - this.#queue.now
    return timeLeft <= this.#horizon || this.hasRoom
  }

  get hasRoom(): boolean {
    if (this.#catchesUp()) return false
    if (this.#horizon === Infinity || (this.#slots.first === undefined && this.#pending === 0)) return true
    return this.#room >= 1
  }

  /** How many more units can be booked before the horizon, if no other process books. */
  get #room(): number {
    const [policy] = this.#queue.context.units.policies.filter(({ shadow }) => !shadow)
    if (policy === undefined) return Infinity
    const { limit, window } = policy
    const ahead = this.#queue.now + this.#horizon - this.lastAt
    const atOnce = this.#slots.first === undefined ? this.#free : 0
    return atOnce + Math.floor((ahead * limit) / (window * 1000)) - this.#pending
  }

  /** True if the store is asked about earlier calls, so that nobody knows yet whether this call has to wait: `undecided` has it then. */
  defers(waiter: Waiter): boolean {
    const most = Math.max(leastUndecided, this.#queue.context.maxQueue)
    if (this.#requests === 0 || waiter.waits || this.undecided.size >= most) return false
    if (this.undecided.size === 0) this.#answersDue = this.#requests
    this.undecided.add(waiter)
    return true
  }

  /**
   * Calls `count` for each undecided call that still has no slot (start time), once nothing is asked any more. Other calls may ask all the
   * time, so this waits for some round trips at most. Returns true if calls were decided. @param now true to wait no longer
   */
  decide(count: (waiter: Waiter) => void, now = false): boolean {
    if (this.undecided.size === 0 || (!now && this.#answersDue > 0)) return false
    if (!now && this.#requests > 0 && ++this.#rounds < mostRounds) {
      this.#answersDue = this.#requests
      return false
    }
    const waiters = [...this.undecided]
    this.undecided.clear()
    this.#rounds = 0
    for (const waiter of waiters) if (waiter.stage === 'queued' && !waiter.waits) count(waiter)
    return true
  }

  started({ cost }: Waiter): void {
    this.#pending += mostOf(cost)
    this.#requests++
  }

  ended({ cost }: Waiter): void {
    this.#pending -= mostOf(cost)
    this.#requests--
    if (this.#answersDue > 0) this.#answersDue--
  }

  answered({ decision, wait }: Booking): void {
    // Guava's limiters admit any cost without a wait and make the next call wait longer. So `remaining` of such a limiter does not say how
    // much the next call may take.
    const paysLater = this.#queue.context.units.policies.some(({ algorithm }) => algorithm.kind.startsWith('smooth'))
    this.#free = wait > 0 || paysLater ? 0 : decision.remaining
  }

  /** Waits until the last booked slot (start time) is near, then books the next slots. Called when calls wait without a slot. */
  schedule(): void {
    if (this.#next?.pending || this.#pending > 0 || this.#horizon === Infinity) return
    const { context, now } = this.#queue
    const half = this.#horizon / 2
    const at = this.lastAt - half
    // At a slow rate, `at` may be in the past, although the next slot (start time) is still beyond the horizon. In this case, the queue
    // waits until the time of the last slot, or for half a horizon if the call of that slot is late (`spacing: 'actual'`).
    const slow = this.lastAt > now ? this.lastAt : now + half
    this.#next = context.scheduler.at(at > now ? at : slow, this.#refill)
  }

  cancel(): void {
    this.#queue.context.scheduler.remove(this.#next)
  }
}
