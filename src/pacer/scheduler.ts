/*
 * All that is to happen later, in order of time, with one timer for the first of it. What is called off stays as a dead
 * entry until it comes first, or until the dead outnumber the living.
 */
import type { Clock } from '../clock.ts'
import { Entries, type Entry } from './entries.ts'
import { longestSleep, type Sleeper } from './sleeper.ts'

export class Scheduler {
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #entries = new Entries()
  #dead = 0
  #added = 0
  #wakesAt = Infinity
  #callOff: (() => void) | undefined
  #running = false

  constructor(clock: Clock, sleeper: Sleeper) {
    this.#clock = clock
    this.#sleeper = sleeper
  }

  add(entry: Entry, at: number): void {
    entry.at = at
    entry.order = this.#added++
    entry.pending = true
    this.#entries.add(entry)
    if (at < this.#wakesAt && !this.#running) this.#arm()
  }

  remove(entry: Entry): void {
    if (!entry.pending) return
    entry.pending = false
    this.#dead++
    if (this.#dead * 2 > this.#entries.size) {
      this.#entries.sweep()
      this.#dead = 0
    }
    if (this.#entries.size === 0) this.#disarm()
  }

  /** Lets everything happen that is due. The time is read again when something is not. */
  run(): void {
    if (this.#running) return
    this.#running = true
    const entries = this.#entries
    let now = 0
    try {
      for (let entry = entries.first; entry !== undefined; entry = entries.first) {
        if (entry.pending && entry.at > now) {
          now = this.#clock()
          if (entry.at > now) break
        }
        entries.shift()
        if (!entry.pending) this.#dead--
        else {
          entry.pending = false
          entry.due()
        }
      }
    } finally {
      this.#running = false
      this.#arm()
    }
  }

  #arm(): void {
    const { first } = this.#entries
    if (first?.at === this.#wakesAt) return
    this.#disarm()
    if (first === undefined) return
    this.#wakesAt = first.at
    const milliseconds = Math.max(0, Math.ceil((first.at - this.#clock()) / 1000))
    this.#callOff = this.#sleeper(Math.min(milliseconds, longestSleep), () => {
      this.#wakesAt = Infinity
      this.#callOff = undefined
      this.run()
    })
  }

  #disarm(): void {
    this.#callOff?.()
    this.#callOff = undefined
    this.#wakesAt = Infinity
  }
}
