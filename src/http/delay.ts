import type { Policy } from '../algorithms/index.ts'
import { type Duration, duration, HeadgateError, readOptions, whole } from '../common/index.ts'
import type { Key, Reservation, Units } from '../limiter/index.ts'
import { type Booked, BookedSlots } from './booked-slots.ts'

/** Options of `delay`. */
export interface DelayOptions {
  /**
   * The longest time that a request waits, at most 1 hour. A request that would wait longer is refused. Example: `'2s'`.
   */
  max: Duration
  /** How many requests may wait at once, over all keys. Default 100. Example: `50`. */
  queue?: number
}

const anHour = 3_600_000

/**
 * Requests that wait until they are admitted. A place is taken before the store is called, so a burst cannot overfill
 * the queue.
 */
export class Delay {
  readonly #max: number
  readonly #queue: number
  readonly #slots = new BookedSlots()
  #waiting = 0

  /** @throws HeadgateError `HEADGATE_OPTION` if an option is wrong, or if the policies cannot promise a future time */
  constructor(options: DelayOptions, policies: readonly Policy[]) {
    const readers = { max: duration(undefined, { most: anHour }), queue: whole(100) }
    const { max, queue } = readOptions('delay', options, readers)
    this.#max = max
    this.#queue = queue
    const enforced = policies.filter(({ shadow, algorithm }) => !shadow && !algorithm.punishes && !algorithm.leases)
    if (enforced.length === 1 && enforced[0]?.algorithm.promises) return
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'delay needs exactly one policy that can promise a future time: a bucket, a fixed window or a sliding log. ' +
        `Write policies: '10/1s token-bucket'.`,
    )
  }

  /** Takes a place; `leave` returns it. Returns how many milliseconds the request may wait: 0 if all places are taken. */
  enter(): number {
    return this.#waiting++ < this.#queue ? this.#max : 0
  }

  leave(): void {
    this.#waiting--
  }

  /** Call this when an asynchronous store is asked for a slot: see `BookedSlots.ask`. */
  ask(key: Key, cost: Units): (waits: boolean) => void {
    return this.#slots.ask(key, cost)
  }

  /** Waits for a slot of the key, then returns the place: see `BookedSlots.wait`. */
  async pause(booked: Booked, onEnd: (left: () => void) => void): Promise<Reservation | undefined> {
    const reservation = await this.#slots.wait(booked, onEnd)
    this.leave()
    return reservation
  }
}
