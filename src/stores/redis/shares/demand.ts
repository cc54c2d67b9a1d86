/*
 * The units wanted in the last window, admitted or not. This file estimates them for this process, as a sliding window of the
 * store does for all processes. So the ratio of the two is this process's part of the demand.
 */

import type { Policy } from '../../../algorithms/index.ts'
import { slidingWindow } from '../../../algorithms/windows/index.ts'
import type { KeptState } from '../../../inspection/index.ts'

/** A limit that no demand reaches in one window. */
const unlimited = 1_000_000_000

/** The prefix of the policy's name. No policy of a user can have such a name. */
const demandName = '~demand'

/**
 * The policy that counts the demand of a key by all processes with this window. The policy refuses nothing.
 * @param window in milliseconds
 */
export function demandPolicy(scope: string, window: number): Policy {
  const name = `${demandName}-${window}ms`
  return slidingWindow({ name, scope, limit: unlimited, window: `${window}ms`, shadow: true })
}

/** True for the state of a demand policy, also of another window, whose policy name is not known to this process. */
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

  /** The estimate of the units of the last window: those of the window before are taken as evenly spread. */
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
