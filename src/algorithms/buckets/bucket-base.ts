import { Algorithm, type Numbers, type Ticket } from '../algorithm.ts'
import { maxSafe, ratioUp } from '../exact-math.ts'
import { type Description, debtWords, type Facts, type InspectedNumbers, usedWords } from '../inspected-state.ts'
import { Bookings, maxBookings } from './bookings.ts'
import { type Drain, maxSteps } from './level-history.ts'

/**
 * The common part of both kinds of buckets: reservations, and how a state changes when its policy gets another limit or window.
 * `s[1]` is the level (the used units, in ticks), and `s[timeSlot]` is the time of that level.
 */
export abstract class DrainingBucket extends Algorithm implements Drain {
  readonly slots: number
  declare readonly idSlot: number
  override readonly bookingNumbers: number = 1 + 2 * maxSteps + 3 * maxBookings
  override readonly promises = true
  abstract readonly rate: number
  abstract readonly per: number
  abstract readonly capacity: number
  /** How many ticks of the level one unit of cost is. bucket.ts defines ticks. */
  abstract readonly weight: number
  readonly #timeSlot: number
  protected readonly bookings: Bookings

  /**
   * The last number of a state is the id of its open reservations: 0 if none is open, -1 if only units booked for a later time
   * are left.
   */
  constructor(slots: number, timeSlot: number) {
    super()
    this.slots = slots
    this.idSlot = slots - 1
    this.#timeSlot = timeSlot
    this.bookings = new Bookings(this, slots)
  }

  // These methods are abstract, because the defaults in `Algorithm` ignore units that are booked for a later time.
  abstract override fits(s: Numbers, i: number, at: number, cost: number, delay: number): boolean
  abstract override count(s: Numbers, i: number, at: number, cost: number): void
  abstract override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void
  abstract override condense(s: Numbers, i: number, at: number, t: Numbers, j: number): void
  abstract override continues(from: Algorithm): from is DrainingBucket
  /** How fast used units become free again: the end of the sentence that `inspect` shows. */
  protected abstract returning(s: readonly number[], facts: Facts): string
  protected abstract numbers(s: readonly number[]): InspectedNumbers

  override refund(s: Numbers, i: number, at: number, cost: number): void {
    this.take(s, i, at, 0, 0)
    const level = s[i + 1] as number
    const ticks = cost * this.weight
    const open = s[i + this.idSlot] !== 0 && Array.isArray(s)
    const rest = open ? this.bookings.refund(s, s[this.#timeSlot] as number, level, ticks) : ticks
    s[i + 1] = Math.max(0, level - rest)
    if (!open) return
    if (rest > 0) this.bookings.arrive(s, this.bookings.since(s, s[this.#timeSlot] as number) + 1, s[1] as number, 0)
    this.close(s)
  }

  override bookedAt(s: Numbers, i: number, at: number, delay: number): number {
    return delay > 0 ? at + delay : this.bookings.since(s, s[i + this.#timeSlot] as number)
  }

  override settle(s: Numbers, i: number, at: number, units: number, [since, , whole]: Ticket): void {
    this.take(s, i, at, 0, 0)
    if (!Array.isArray(s)) return
    const now = s[this.#timeSlot] as number
    const level = s[1] as number
    const ticks = Math.min(units, whole) * this.weight
    const back =
      since > this.bookings.since(s, now)
        ? this.bookings.cancel(s, now, level, since, whole * this.weight, ticks)
        : this.bookings.settle(s, level, since, ticks)
    s[1] = level - back
    this.close(s)
  }

  /** Removes the id of the open reservations from the state if no reservation can be settled any more. */
  protected close(s: number[]): void {
    if (!this.bookings.over(s, s[1] as number)) return
    s.length = this.slots
    s[this.idSlot] = 0
  }

  /**
   * Makes the tickets of earlier reservations invalid: they give nothing back any more. Units booked for a later time stay booked.
   * @param ahead how far the clock went back, in microseconds
   */
  protected forgetTickets(s: number[], ahead: number): void {
    this.bookings.restart(s, ahead)
    s[this.idSlot] = s.length > this.slots ? -1 : 0
  }

  /** At a new rate, the number of used units stays the same, rounded up to whole ticks. Units booked for a later time keep that time. */
  override adopt(s: Numbers, i: number, at: number, from: Algorithm): boolean {
    if (!this.continues(from)) return false
    from.take(s, i, at, 0, 0)
    s[i + 1] = Math.min(maxSafe, ratioUp(s[i + 1] as number, this.weight, from.weight))
    if (!Array.isArray(s)) return true
    this.bookings.scale(s, this.weight, from.weight)
    this.bookings.endRuns(s)
    return true
  }

  /**
   * Multiplies the used units by `times / per`. If their number changes or exceeds the capacity, no earlier reservation gives units back.
   */
  override carry(s: Numbers, i: number, at: number, from: DrainingBucket, times: number, per: number): void {
    from.take(s, i, at, 0, 0)
    const level = ratioUp(s[i + 1] as number, times, per)
    const ticks = level < maxSafe ? ratioUp(level, this.weight, from.weight) : Infinity
    s[i + 1] = Math.min(this.capacity, ticks)
    if (s[i + this.idSlot] === 0 || !Array.isArray(s)) return
    this.bookings.scale(s, times, per)
    this.bookings.scale(s, this.weight, from.weight)
    this.bookings.endRuns(s)
    if (times !== per || ticks > this.capacity) this.forgetTickets(s, 0)
  }

  override scaledWait(s: Numbers, i: number, at: number, cost: number, capacity: number): number {
    return this.wait(s, i, at, ratioUp(cost, this.capacity, capacity))
  }

  override describe(s: readonly number[], facts: Facts): Description {
    const debt = Math.max(0, Math.ceil(((s[1] as number) - this.capacity) / this.weight))
    const booked = this.bookings.list(s).map(([time, ticks]) => ({ time, units: Math.ceil(ticks / this.weight) }))
    const words = usedWords(facts, debtWords(debt) + this.returning(s, facts))
    return { words, numbers: this.numbers(s), debt, booked }
  }
}
