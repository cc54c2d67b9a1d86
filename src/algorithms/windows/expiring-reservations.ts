/*
 * The reservations of a state that give their units back when they expire. The numbers of these reservations come after the slots of the
 * state: for each reservation its expiry (us), the id of its ticket and its units, the earliest expiry first. A state without such
 * reservations has none of these numbers.
 *
 *     used    ______
 *            |  A   |______
 *            |______|   B  |____
 *                   ^ A expires: its units count no longer, whether or not a call comes
 *
 * An expired reservation stays in the state until the next call writes the state. Until then, every reader of the state subtracts the
 * units of the reservation. Refunds since the reservation reduce the units that it gives back, because refunds raise the id of the state
 * (`Algorithm.idCountsRefunds`).
 */
import type { Expiring, Numbers, Ticket } from '../algorithm.ts'
import type { UnitsAt } from '../inspected-state.ts'

/** How many open reservations that expire a state can have. */
export const mostExpiring = 100

export class ExpiringReservations implements Expiring {
  readonly #slots: number
  readonly #idSlot: number

  constructor(slots: number, idSlot: number) {
    this.#slots = slots
    this.#idSlot = idSlot
  }

  /** True if the state has reservations that expire. Possible only for a state that is stored alone in an array, from index 0. */
  in(s: Numbers): s is number[] {
    return Array.isArray(s) && s.length > this.#slots
  }

  /** How many units the reservation at index `k` gives back. */
  #unitsOf(s: Numbers, k: number): number {
    const refunded = (s[this.#idSlot] as number) - (s[k + 1] as number)
    return refunded < 0 ? 0 : Math.max(0, (s[k + 2] as number) - refunded)
  }

  /** The index of the first reservation that expires after `at`. */
  #firstAfter(s: Numbers, at: number): number {
    let k = this.#slots
    while (k < s.length && (s[k] as number) <= at) k += 3
    return k
  }

  /** The `used` units of the state without the units of reservations that have expired at the time `at`. */
  usedAt(s: Numbers, used: number, at: number): number {
    if (!this.in(s)) return used
    for (let k = this.#slots; k < s.length && (s[k] as number) <= at; k += 3) used -= this.#unitsOf(s, k)
    return Math.max(0, used)
  }

  /** The time at which at most `most` of the `used` units are still used, because reservations expire. Infinity if too few expire. */
  freeAt(s: Numbers, used: number, most: number): number {
    if (!this.in(s)) return Infinity
    for (let k = this.#slots; k < s.length; k += 3) {
      used -= this.#unitsOf(s, k)
      if (used <= most) return s[k] as number
    }
    return Infinity
  }

  isFull(s: Numbers, at: number): boolean {
    return this.in(s) && s.length - this.#firstAfter(s, at) >= 3 * mostExpiring
  }

  add(s: number[], [, id, units, expiry = 0]: Ticket): void {
    s.splice(this.#firstAfter(s, expiry), 0, expiry, id, units)
  }

  remove(s: Numbers, [, id, units, expiry]: Ticket): boolean {
    if (!this.in(s)) return false
    for (let k = this.#slots; k < s.length; k += 3) {
      if (s[k] !== expiry || s[k + 1] !== id || s[k + 2] !== units) continue
      s.splice(k, 3)
      return true
    }
    return false
  }

  /** Removes the reservations that have expired at the time `at`. */
  drop(s: Numbers, at: number): void {
    if (this.in(s)) s.splice(this.#slots, this.#firstAfter(s, at) - this.#slots)
  }

  /** Removes all reservations: their units stay used. */
  clear(s: Numbers): void {
    if (this.in(s)) s.length = this.#slots
  }

  /** When each reservation expires, and how many units it gives back. */
  list(s: readonly number[]): readonly UnitsAt[] {
    const all: UnitsAt[] = []
    for (let k = this.#slots; k < s.length; k += 3) {
      all.push({ units: this.#unitsOf(s as number[], k), time: s[k] as number })
    }
    return all
  }
}
