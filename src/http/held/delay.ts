import { isolatesRequests } from '#platform'
import { duration, HeadgateError, monotonicClock, readOptions, whole } from '../../common/index.ts'
import type { AnyCost, Key, RateLimiter, Reservation } from '../../limiter/index.ts'
import type { DelayOptions } from '../guard-options.ts'
import { type Booked, BookedSlots } from './booked-slots.ts'

const anHour = 3_600_000

/**
 * A queue of requests that wait until they are admitted. A request gets a place in the queue before the store is called, so a burst
 * of requests cannot overfill the queue.
 *
 * With one queue for all keys, a single key could fill the queue, and every burst of another key would be refused. So one key can
 * fill at most a quarter of the places that other keys leave free. If a first key fills its quarter, three quarters stay free. If a
 * second key fills a quarter of these three quarters, nine sixteenths stay free, and so on. So a request of a new key gets a place
 * as long as any place is free.
 */
export class Delay {
  readonly #max: number
  /**
   * The scope (kind of key, such as `user`) of the one policy that reserves units for a later time. Requests with the same key in this
   * scope share one quarter of the free places.
   */
  readonly #scope: string
  readonly #slots = new BookedSlots()
  /** True if a refused request may use the slot (a booked time) of a client that has disconnected: no refusal counts. */
  readonly #reuses: boolean
  /** How many places in the queue each key has now. A key without a place is removed. */
  readonly #held = new Map<string, number>()
  #free: number
  /** Only in Cloudflare Workers: the occupied places, with their keys, and the times in microseconds at which the places expire. */
  readonly #places: { readonly own: string; readonly until: number }[] = []

  /** @throws HeadgateError `HEADGATE_OPTION` if an option is invalid, or unless exactly one policy and the store can book a future time */
  constructor(options: DelayOptions, { policies, store }: RateLimiter) {
    const readers = { max: duration(undefined, { most: anHour, usual: 100 }), queue: whole(100) }
    const { max, queue } = readOptions('delay', options, readers)
    this.#max = max
    this.#free = queue
    const enforced = policies.filter(({ shadow, algorithm }) => !shadow && !algorithm.punishes)
    const [booked] = enforced
    if (enforced.length !== 1 || !booked?.algorithm.promises || store.traits?.promises === false) {
      throw new HeadgateError(
        'HEADGATE_OPTION',
        'delay needs exactly one policy that can promise a future time: a bucket, a fixed window or a sliding log, ' +
          'and a store other than hitStore. ' +
          "Write policies: '10/1s token-bucket'. Put a limit of units in flight into another middleware, behind this one.",
      )
    }
    this.#scope = booked.scope
    this.#reuses = !booked.countRefused && policies.every(({ algorithm }) => !algorithm.punishes)
  }

  /**
   * Reserves a place for the key; `leave` frees the place. Returns how many milliseconds the request may wait. Returns 0, without a place,
   * if the key has too many places already, or if the request has already waited for `max`.
   * @param waited how many milliseconds the request has already waited
   */
  enter(key: Key, waited: number): number {
    if (waited >= this.#max) return 0
    const own = this.#ownOf(key)
    if (isolatesRequests) this.#freeForgotten()
    const held = this.#held.get(own) ?? 0
    if (held * 3 >= this.#free) return 0 // a quarter of `held + free` is full
    this.#held.set(own, held + 1)
    this.#free--
    if (isolatesRequests) this.#places.push({ own, until: monotonicClock() + this.#max * 1000 })
    return this.#max - waited
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

  /** Frees the places that are older than `max`: in Cloudflare Workers, no code runs for a request whose client has disconnected. */
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

  /**
   * Call `ask` when you ask an asynchronous store for a slot (a booked time). After the store has answered, call the returned function,
   * with true if you call `pause` next.
   */
  ask(key: Key, cost: AnyCost): (waits: boolean) => void {
    return this.#slots.ask(key, cost)
  }

  /**
   * What a request does instead of being refused: it uses the slot (a booked time) of a client that has disconnected, if there is one. A
   * refusal by a ban, by a penalty or under an override stays a refusal, and so does a refusal that counts.
   */
  insteadOf(refused: Reservation, key: Key, cost: AnyCost): Reservation {
    const { ban, override } = refused.decision
    if (!this.#reuses || ban !== undefined || override !== undefined) return refused
    return this.#slots.takeSpare(key, cost) ?? refused
  }

  /**
   * Waits for a slot (a booked time) of the key. Resolves to the reservation of the slot that the request uses, or to undefined if the
   * client disconnected. The place in the queue is free when the slot was used or refunded.
   * @param onEnd calls its argument when the response has ended
   */
  async pause({ giveBack, ...booked }: Booked, onEnd: (left: () => void) => void): Promise<Reservation | undefined> {
    const refund = () => {
      this.leave(booked.key)
      giveBack()
    }
    const reservation = await this.#slots.wait({ ...booked, giveBack: refund }, onEnd)
    if (reservation !== undefined) this.leave(booked.key)
    return reservation
  }
}
