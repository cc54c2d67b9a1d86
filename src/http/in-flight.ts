import type { Policy } from '../algorithms/algorithm.ts'
import type { Reservation } from '../reservation.ts'
import { warnOnce } from '../warn.ts'

/** Timers of more milliseconds than this fire at once. */
const longestInterval = 2 ** 31 - 1

/** A reservation that was made since the last tick is `fresh`. It becomes `due` at the next one. */
interface Held {
  state: 'fresh' | 'due' | 'renewing'
  readonly failed: (error: unknown) => void
}

/**
 * Units in flight that requests hold under `concurrency` policies, from their admission until their responses have ended.
 *
 * One timer for all requests ticks three times in the shortest lease. It renews what has been held since the tick before,
 * so a short request costs nothing, and a lease has never less than a third of its time left.
 */
export class InFlight {
  readonly #interval: number
  readonly #held = new Map<Reservation, Held>()
  #timer: ReturnType<typeof setInterval> | undefined

  /** @param lease the shortest lease, in milliseconds */
  constructor(lease: number) {
    this.#interval = Math.min(Math.ceil(lease / 3), longestInterval)
  }

  /** Undefined if no policy counts units in flight. */
  static of(policies: readonly Policy[]): InFlight | undefined {
    const leases = policies.filter(({ algorithm }) => algorithm.leases).map(({ window }) => window)
    return leases.length === 0 ? undefined : new InFlight(Math.min(...leases))
  }

  /**
   * Holds the units of an admitted request, and renews their leases. Returns the function that frees them.
   * @param failed reports an error of the store
   */
  hold(reservation: Reservation, failed: (error: unknown) => void): () => void {
    this.#held.set(reservation, { state: 'fresh', failed })
    this.#timer ??= this.#start()
    return () => {
      this.#held.delete(reservation)
      reservation.release().catch(failed)
    }
  }

  #start(): ReturnType<typeof setInterval> {
    const timer = setInterval(() => this.#tick(), this.#interval)
    timer.unref?.()
    return timer
  }

  #tick(): void {
    if (this.#held.size === 0) {
      clearInterval(this.#timer)
      this.#timer = undefined
      return
    }
    for (const [reservation, held] of this.#held) {
      if (held.state === 'fresh') held.state = 'due'
      else if (held.state === 'due') void this.#renew(reservation, held)
    }
  }

  /** A request whose lease was lost goes on. It is in flight again as soon as a unit is free. */
  async #renew(reservation: Reservation, held: Held): Promise<void> {
    held.state = 'renewing'
    try {
      const renewed = await reservation.renew()
      if (!renewed && this.#held.has(reservation)) warnOfLostLease()
    } catch (error) {
      held.failed(error)
    }
    held.state = 'due'
  }
}

function warnOfLostLease(): void {
  warnOnce(
    'HEADGATE_LEASE',
    'A lease ended before it was renewed, and other requests have taken its units. The request goes on, so more are in ' +
      'flight than the limit. Give the concurrency policy a longer lease.',
  )
}
