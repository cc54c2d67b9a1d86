import type { PolicyLikes } from '../../src/index.ts'
import { Pacer, type PacerOptions } from '../../src/pacer/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

interface Sleep {
  at: number
  wake: () => void
}

/** A pacer on a manual clock, and what happens on it as text: "A+0 B+200 C+400". */
export class Timeline {
  readonly clock: ManualClock
  readonly start: number
  /** Timers that run now. */
  readonly sleeps = new Set<Sleep>()
  /** The most timers that ran at once. */
  mostSleeps = 0
  /** The longest timer, in milliseconds. */
  longestSleep = 0
  readonly events: string[] = []

  constructor(start?: number) {
    this.clock = new ManualClock(start)
    this.start = this.clock.milliseconds
  }

  /** Milliseconds since the start. */
  get now(): number {
    return this.clock.milliseconds - this.start
  }

  pacer(policy: PolicyLikes, options: PacerOptions = {}): Pacer {
    return new Pacer(policy, { clock: this.clock.now, sleeper: this.sleeper, random: () => 0, ...options })
  }

  readonly sleeper = (milliseconds: number, wake: () => void): (() => void) => {
    const sleep = { at: this.clock.milliseconds + milliseconds, wake }
    this.sleeps.add(sleep)
    this.mostSleeps = Math.max(this.mostSleeps, this.sleeps.size)
    this.longestSleep = Math.max(this.longestSleep, milliseconds)
    return () => this.sleeps.delete(sleep)
  }

  /** Adds an event when a call ends: "A+200", or "A!HEADGATE_TIMEOUT+200". */
  write<T>(name: string, call: Promise<T>): Promise<T | undefined> {
    return call.then(
      (value) => {
        this.events.push(`${name}+${this.now}${value === false ? '=false' : ''}`)
        return value
      },
      (error) => {
        this.events.push(`${name}!${error?.code ?? error?.message ?? error}+${this.now}`)
        return undefined
      },
    )
  }

  /** Moves the clock on, and stops wherever a timer ends. */
  async pass(milliseconds: number): Promise<void> {
    const until = this.clock.milliseconds + milliseconds
    await settle()
    for (;;) {
      const next = [...this.sleeps].filter(({ at }) => at <= until).sort((a, b) => a.at - b.at)[0]
      if (next === undefined) break
      this.sleeps.delete(next)
      if (next.at > this.clock.milliseconds) this.clock.set(next.at)
      next.wake()
      await settle()
    }
    if (until > this.clock.milliseconds) this.clock.set(until)
    await settle()
  }

  async read(milliseconds = 100_000): Promise<string> {
    await this.pass(milliseconds)
    return this.events.join(' ')
  }
}

/** Waits until all promises that can settle have settled. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
