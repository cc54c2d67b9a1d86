import { isolatesRequests, realTimers } from '#platform'
import type { Policy } from '../../algorithms/index.ts'
import { longestSleep, monotonicClock, warnOnce } from '../../common/index.ts'
import type { Reservation } from '../../limiter/index.ts'

/**
 * The request that holds units. Only the object that reports the end of the request may have a reference to the Owner. If the
 * Owner is garbage-collected, no object can report that end any more, so the units are freed.
 */
export interface Owner {
  /**
   * The function that `Framework.held` returned for the request: its result grows while the request runs. Undefined if the
   * connection always reports the end of the request.
   */
  readonly progress: (() => number) | undefined
  failed(error: unknown): void
}

/**
 * How many leases are renewed at once at least, and how many milliseconds a renewal may hold up the next ones. A renewal takes longer the
 * more units a key has in flight: thousands at once would stop the event loop, or other calls of the store, for seconds.
 */
const leastAtOnce = 16
const longestRenewal = 20

/** How often the timer ticks in a lease. One renewal may fail: if the first one comes at half of the lease, the next one is still in time. */
const ticks = 4

/** Units that were already held at the last tick of the timer. */
interface Due {
  readonly owner: WeakRef<Owner>
  /** The result of the owner's `progress` at the last tick. */
  progress: number
  renewing: boolean
}

/**
 * Holds units in flight under `concurrency` policies, from the admission of a request until its response has ended.
 *
 * All requests share one timer (in Cloudflare Workers, each request has its own timer). A tick renews the units that were already held at the
 * previous tick, so a short request needs no renewal. If the number from `Owner.progress` has not grown, the units are not renewed, and their
 * lease ends.
 */
export class InFlight {
  readonly #lease: number
  readonly #interval: number
  /** The reservations that were made after the last tick of the timer, and their owners. */
  readonly #fresh = new Map<Reservation, Owner>()
  readonly #due = new Map<Reservation, Due>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param lease the shortest lease of the policies, in milliseconds: units that are not renewed in this time are freed */
  constructor(lease: number) {
    this.#lease = lease
    this.#interval = Math.min(Math.ceil(lease / ticks), longestSleep)
  }

  /** Makes the object that holds units for these policies. Undefined if no policy counts units in flight (of unfinished requests). */
  static of(policies: readonly Policy[]): InFlight | undefined {
    const leases = policies.filter(({ algorithm }) => algorithm.leases).map(({ window }) => window)
    return leases.length === 0 ? undefined : new InFlight(Math.min(...leases))
  }

  /** Holds the units of an admitted request: renews their leases until the returned function is called, which frees the units. */
  hold(reservation: Reservation, owner: Owner): () => Promise<void> {
    return (isolatesRequests ? new InFlight(this.#lease) : this).#hold(reservation, owner)
  }

  #hold(reservation: Reservation, owner: Owner): () => Promise<void> {
    this.#fresh.set(reservation, owner)
    this.#timer ??= this.#start()
    return () => {
      this.#fresh.delete(reservation)
      this.#due.delete(reservation)
      return reservation.release().catch((error) => owner.failed(error))
    }
  }

  #start(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#tick(), this.#interval)
    timer.unref?.()
    return timer
  }

  #tick(): void {
    void this.#renewAll([...this.#due])
    for (const [reservation, owner] of this.#fresh) {
      this.#due.set(reservation, { owner: new WeakRef(owner), progress: 0, renewing: false })
    }
    this.#fresh.clear()
    if (this.#due.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** Renews the leases some at a time, in at most half of the time between two ticks: the more at once, the later the event loop is. */
  async #renewAll(held: readonly (readonly [Reservation, Due])[]): Promise<void> {
    const parts = Math.max(1, Math.floor(this.#interval / 2 / longestRenewal))
    const began = monotonicClock()
    for (let n = 0, end = 0; n < held.length; n = end) {
      const late = (monotonicClock() - began) / 1000 / longestRenewal
      end = Math.max(n + leastAtOnce, n + Math.ceil(held.length / parts), Math.ceil((held.length * late) / parts))
      const some = held.slice(n, end).filter(([reservation]) => this.#due.has(reservation))
      const renewed = Promise.allSettled(some.map(([reservation, due]) => this.#renew(reservation, due)))
      if (end < held.length) await Promise.race([renewed.then(() => pause(0)), pause(longestRenewal)])
    }
  }

  /**
   * Renews the leases of a request's units. If a lease has ended, the request continues, and a later renewal takes its units again if they
   * are free.
   */
  async #renew(reservation: Reservation, due: Due): Promise<void> {
    const owner = due.owner.deref()
    if (owner === undefined) return this.#free(reservation)
    if (due.renewing || !lives(owner, due)) return
    due.renewing = true
    try {
      const renewed = await reservation.renew()
      if (!renewed && this.#due.has(reservation)) warnOfLostLease()
    } catch (error) {
      owner.failed(error)
    }
    due.renewing = false
  }

  /** Frees units whose owner was garbage-collected. Ignores an error of the store, because a lease that is not renewed ends anyway. */
  async #free(reservation: Reservation): Promise<void> {
    this.#due.delete(reservation)
    await reservation.release().catch(() => undefined)
  }
}

function pause(milliseconds: number): Promise<void> {
  return new Promise((resolve) => realTimers.setTimeout(() => resolve(), milliseconds))
}

function lives({ progress }: Owner, due: Due): boolean {
  if (progress === undefined) return true
  const before = due.progress
  due.progress = progress()
  return due.progress > before
}

function warnOfLostLease(): void {
  warnOnce(
    'HEADGATE_LEASE',
    'A lease ended before it was renewed, and other requests have taken its units. The request goes on, so more are in ' +
      'flight than the limit. Give the concurrency policy a longer lease.',
  )
}
