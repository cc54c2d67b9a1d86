/*
 * The units that were wanted in the last window, admitted or not: by this process here, and by all of them in a sliding
 * window of the store. Both are the same estimate, so their ratio is this process's part of the demand.
 */

import type { Policy } from '../../../algorithms/index.ts'
import { slidingWindow } from '../../../algorithms/windows/index.ts'
import type { KeptState } from '../../../inspection/index.ts'

/** More units than anybody wants in one window. */
const unlimited = 1_000_000_000

/** How the name begins. No policy of a user is named so. */
const demandName = '~demand'

/**
 * The policy that counts the demand of a key by all processes with this window. It refuses nothing.
 * @param window in milliseconds
 */
export function demandPolicy(scope: string, window: number): Policy {
  const name = `${demandName}-${window}ms`
  return slidingWindow({ name, scope, limit: unlimited, window: `${window}ms`, shadow: true })
}

/** True for the state of such a policy, also of processes with another window, whose name is not known here. */
export function isDemand({ name, definition }: KeptState): boolean {
  return name?.startsWith(demandName) ?? definition.parameters.includes(unlimited)
}

export class Demand {
  readonly #window: number
  #start = 0
  #current = 0
  #previous = 0

  /** @param window in microseconds */
  constructor(window: number) {
    this.#window = window
  }

  add(units: number, now: number): void {
    this.#advance(now)
    this.#current += units
  }

  /** The units of the last window, if those of the window before came evenly. */
  at(now: number): number {
    this.#advance(now)
    return this.#current + this.#previous * (1 - (now - this.#start) / this.#window)
  }

  #advance(now: number): void {
    const start = now - (now % this.#window)
    if (start <= this.#start) return
    this.#previous = start - this.#start === this.#window ? this.#current : 0
    this.#current = 0
    this.#start = start
  }
}
