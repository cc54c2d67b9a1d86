import { isolatesRequests } from '#platform'
import type { Policy } from '../../algorithms/index.ts'
import { longestSleep, warnOnce } from '../../common/index.ts'
import type { Reservation } from '../../limiter/index.ts'

/**
 * The request that holds units. Only the object that reports the end of the request may reference it. Once an owner was
 * garbage-collected, no end can be reported any more, so its units are freed.
 */
export interface Owner {
  /** The function of `Framework.held`. Undefined if the request lives until its end is reported. */
  readonly progress: (() => number) | undefined
  failed(error: unknown): void
}

/** Units that were held at the last tick already. */
interface Due {
  readonly owner: WeakRef<Owner>
  /** The progress of the owner at the last tick. */
  progress: number
  renewing: boolean
}

/**
 * Units in flight that requests hold under `concurrency` policies, from their admission until their responses have ended.
 *
 * One timer for all requests (one for each request where the timer of one request must not serve another) ticks three times in the shortest lease. It renews units that were held at the tick before
 * already, so a short request costs nothing, and a lease always has at least a third of its time left. It does not
 * renew units whose owner makes no progress, so their lease ends by itself.
 */
export class InFlight {
  readonly #lease: number
  readonly #interval: number
  /** Units that requests began to hold after the last tick. */
  readonly #fresh = new Map<Reservation, Owner>()
  readonly #due = new Map<Reservation, Due>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param lease the shortest lease, in milliseconds */
  constructor(lease: number) {
    this.#lease = lease
    this.#interval = Math.min(Math.ceil(lease / 3), longestSleep)
  }

  /** Undefined if no policy counts units in flight. */
  static of(policies: readonly Policy[]): InFlight | undefined {
    const leases = policies.filter(({ algorithm }) => algorithm.leases).map(({ window }) => window)
    return leases.length === 0 ? undefined : new InFlight(Math.min(...leases))
  }

  /** Holds the units of an admitted request, and renews their leases. Returns the function that frees them. */
  hold(reservation: Reservation, owner: Owner): () => void {
    return (isolatesRequests ? new InFlight(this.#lease) : this).#hold(reservation, owner)
  }

  #hold(reservation: Reservation, owner: Owner): () => void {
    this.#fresh.set(reservation, owner)
    this.#timer ??= this.#start()
    return () => {
      this.#fresh.delete(reservation)
      this.#due.delete(reservation)
      reservation.release().catch((error) => owner.failed(error))
    }
  }

  #start(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#tick(), this.#interval)
    timer.unref?.()
    return timer
  }

  #tick(): void {
    for (const [reservation, due] of this.#due) void this.#renew(reservation, due)
    for (const [reservation, owner] of this.#fresh) {
      this.#due.set(reservation, { owner: new WeakRef(owner), progress: 0, renewing: false })
    }
    this.#fresh.clear()
    if (this.#due.size > 0) return
    clearInterval(this.#timer)
    this.#timer = undefined
  }

  /** A request whose lease was lost goes on. It is in flight again as soon as a unit is free. */
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

  /** Frees units. Ignores an error of the store: nobody waits for it, and the lease ends without a renewal. */
  async #free(reservation: Reservation): Promise<void> {
    this.#due.delete(reservation)
    await reservation.release().catch(() => undefined)
  }
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
