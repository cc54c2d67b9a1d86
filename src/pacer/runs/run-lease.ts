import type { Reservation } from '../../limiter/index.ts'
import type { PacerContext } from '../pacer-context.ts'
import { Task } from '../timers/index.ts'

/** How often the units of a running function are renewed within one lease. Two renewals may fail before the lease ends. */
const renewalsPerLease = 4

/** The units in flight of a function: renewed while the function runs, and released when it has ended. */
export class RunLease extends Task {
  readonly #reservation: Reservation
  readonly #context: PacerContext

  constructor(reservation: Reservation, context: PacerContext) {
    super()
    this.#reservation = reservation
    this.#context = context
    this.#schedule()
  }

  #schedule(): void {
    const { renewals, units, clock } = this.#context
    renewals?.add(this, clock() + Math.ceil(units.lease / renewalsPerLease))
  }

  /** Renews the lease of the units (the time until they are freed). If the renewal fails, the next renewal tries again. */
  run(): void {
    this.#schedule()
    this.#reservation.renew().catch(() => undefined)
  }

  /** Releases the units of an ended function. The promise never rejects: if the store fails, the units are free when their lease ends. */
  async release(): Promise<void> {
    this.#context.renewals?.remove(this)
    await this.#reservation.release().catch(() => undefined)
  }
}
