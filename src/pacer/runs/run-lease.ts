import type { Reservation } from '../../limiter/index.ts'
import type { PacerContext } from '../context.ts'
import { Task } from '../timers/index.ts'

/** How many renewals are tried within one lease. Two of them may fail. */
const renewalsPerLease = 3

/** The units in flight of a function: renewed while it runs, and released when it has ended. */
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

  /** Renews the lease. If that fails, the next renewal tries again. */
  run(): void {
    this.#schedule()
    this.#reservation.renew().catch(() => undefined)
  }

  /** Frees the units. Never rejects: if the store fails, the units are free when their lease ends. */
  async release(): Promise<void> {
    this.#context.renewals?.remove(this)
    await this.#reservation.release().catch(() => undefined)
  }
}
