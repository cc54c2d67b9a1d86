import type { PackedPlan } from './packed-plan.ts'
import type { ScriptResponse } from './script-response.ts'

/** What decides a call by leased units. */
export interface SpentUnits {
  readonly response: ScriptResponse
  /** Microseconds since the response. */
  readonly elapsed: number
}

interface Waiter {
  readonly cost: number
  resolve(units: SpentUnits | undefined): void
  reject(error: unknown): void
}

/** A request for a lease that is under way, and the calls that wait for its units, in their order. */
export class PendingLease {
  readonly plan: PackedPlan
  /** The units that no caller waits for yet. */
  room: number
  #waiters: Waiter[] = []

  constructor(plan: PackedPlan, room: number) {
    this.plan = plan
    this.room = room
  }

  claim(cost: number): Promise<SpentUnits | undefined> {
    this.room -= cost
    return new Promise((resolve, reject) => this.#waiters.push({ cost, resolve, reject }))
  }

  settle(spend: (cost: number) => SpentUnits | undefined): void {
    for (const { cost, resolve } of this.#waiters.splice(0)) resolve(spend(cost))
  }

  fail(error: unknown): void {
    for (const { reject } of this.#waiters.splice(0)) reject(error)
  }
}
