import { isolatesRequests } from '#platform'
import type { Policy } from '../algorithms/index.ts'
import { type Duration, duration, HeadgateError, monotonicClock, readOptions, whole } from '../common/index.ts'
import type { Key, Reservation, Units } from '../limiter/index.ts'
import { type Booked, BookedSlots } from './booked-slots.ts'

/** Options of `delay`. */
export interface DelayOptions {
  /**
   * The longest time that a request waits, at most 1 hour. A request that would wait longer is refused. Example: `'2s'`.
   */
  max: Duration
  /**
   * How many requests may wait at once, over all keys. A key gets at most a quarter of the places that other keys do not
   * hold, rounded up. Default 100. Example: `50`.
   */
  queue?: number
}

const anHour = 3_600_000

/**
 * Requests that wait until they are admitted. A place is taken before the store is called, so a burst cannot overfill
 * the queue.
 *
 * With one queue for all keys, a single key could fill it, and every burst of another key would be refused. So a key gets
 * at most a quarter of the places that other keys do not hold. Keys that take as much as they get leave three quarters,
 * then nine sixteenths, and so on: a newcomer finds a place as long as one is free.
 */
export class Delay {
  readonly #max: number
  /** The scope whose keys share the queue: that of the policy whose times are booked. */
  readonly #scope: string
  readonly #slots = new BookedSlots()
  /** How many places each key holds. A key without a place is removed. */
  readonly #held = new Map<string, number>()
  #free: number
  /** Where a request may be forgotten: the places, with the time in microseconds until which a request may hold each. */
  readonly #places: { readonly own: string; readonly until: number }[] = []

  /** @throws HeadgateError `HEADGATE_OPTION` if an option is wrong, or if the policies cannot promise a future time */
  constructor(options: DelayOptions, policies: readonly Policy[]) {
    const readers = { max: duration(undefined, { most: anHour, usual: 100 }), queue: whole(100) }
    const { max, queue } = readOptions('delay', options, readers)
    this.#max = max
    this.#free = queue
    const enforced = policies.filter(({ shadow, algorithm }) => !shadow && !algorithm.punishes)
    const [booked] = enforced
    if (enforced.length !== 1 || !booked?.algorithm.promises) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        'delay needs exactly one policy that can promise a future time: a bucket, a fixed window or a sliding log. ' +
          "Write policies: '10/1s token-bucket'. Put a limit of units in flight into another middleware, behind this one.",
      )
    }
    this.#scope = booked.scope
  }

  /**
   * Takes a place for the key; `leave` returns it. Returns how many milliseconds the request may wait: 0 if there is no place
   * for the key.
   */
  enter(key: Key): number {
    const own = this.#ownOf(key)
    if (isolatesRequests) this.#freeForgotten()
    const held = this.#held.get(own) ?? 0
    if (held * 3 >= this.#free) return 0 // a quarter of `held` and `free` together
    this.#held.set(own, held + 1)
    this.#free--
    if (isolatesRequests) this.#places.push({ own, until: monotonicClock() + this.#max * 1000 })
    return this.#max
  }

  leave(key: Key): void {
    const own = this.#ownOf(key)
    if (!isolatesRequests || this.#wasTaken(own)) this.#giveBack(own)
  }

  #giveBack(own: string): void {
    const held = (this.#held.get(own) as number) - 1
    if (held === 0) this.#held.delete(own)
    else this.#held.set(own, held)
    this.#free++
  }

  #wasTaken(own: string): boolean {
    const at = this.#places.findIndex((place) => place.own === own)
    if (at >= 0) this.#places.splice(at, 1)
    return at >= 0
  }

  /** No code runs any more for a request of a worker whose client has left, so its place is free after the longest wait. */
  #freeForgotten(): void {
    const now = monotonicClock()
    for (let [first] = this.#places; first !== undefined && first.until < now; [first] = this.#places) {
      this.#places.shift()
      this.#giveBack(first.own)
    }
  }

  #ownOf(key: Key): string {
    return typeof key === 'string' ? key : (key[this.#scope] as string)
  }

  /** Call this when an asynchronous store is asked for a slot: see `BookedSlots.ask`. */
  ask(key: Key, cost: Units): (waits: boolean) => void {
    return this.#slots.ask(key, cost)
  }

  /** Waits for a slot of the key, then returns the place: see `BookedSlots.wait`. */
  async pause(booked: Booked, onEnd: (left: () => void) => void): Promise<Reservation | undefined> {
    const reservation = await this.#slots.wait(booked, onEnd)
    this.leave(booked.key)
    return reservation
  }
}
