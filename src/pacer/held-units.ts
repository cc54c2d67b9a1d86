import type { Clock } from '../clock.ts'
import type { Reservation } from '../reservation.ts'
import type { Scheduler } from './scheduler.ts'
import { Task } from './task-queue.ts'

/** How often a lease is renewed before it ends. Two attempts may fail. */
const renewalsPerLease = 3

/** The timers of renewals. They keep no process alive. */
export interface Renewals {
  readonly scheduler: Scheduler
  readonly clock: Clock
  /** The shortest lease, in microseconds. */
  readonly lease: number
}

/** The units in flight of a function: renewed while it runs, and released when it has ended. */
export class HeldUnits extends Task {
  readonly #reservation: Reservation
  readonly #renewals: Renewals

  constructor(reservation: Reservation, renewals: Renewals) {
    super()
    this.#reservation = reservation
    this.#renewals = renewals
    this.#schedule()
  }

  #schedule(): void {
    const { scheduler, clock, lease } = this.#renewals
    scheduler.add(this, clock() + Math.ceil(lease / renewalsPerLease))
  }

  /** Renews the lease. If that fails, the next renewal tries again. */
  run(): void {
    this.#schedule()
    this.#reservation.renew().catch(() => undefined)
  }

  /** Never rejects: if the store fails, the units leave when their lease ends. */
  async release(): Promise<void> {
    this.#renewals.scheduler.remove(this)
    await this.#reservation.release().catch(() => undefined)
  }
}
