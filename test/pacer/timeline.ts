import type { PolicyLike } from '../../src/index.ts'
import { Pacer, type PacerOptions } from '../../src/pacer/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

interface Sleep {
  at: number
  wake: () => void
}

/** A pacer on a clock that moves only when told, and what happened on it: "A+0 B+200 C+400". */
export class Timeline {
  readonly clock: ManualClock
  readonly start: number
  /** Sleeps that are under way, and the most there were at once. */
  readonly sleeps = new Set<Sleep>()
  mostSleeps = 0
  slept = 0
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

  pacer(policy: PolicyLike, options: PacerOptions = {}): Pacer {
    return new Pacer(policy, { clock: this.clock.now, sleeper: this.sleeper, ...options })
  }

  readonly sleeper = (milliseconds: number, wake: () => void): (() => void) => {
    const sleep = { at: this.clock.milliseconds + milliseconds, wake }
    this.sleeps.add(sleep)
    this.slept++
    this.mostSleeps = Math.max(this.mostSleeps, this.sleeps.size)
    this.longestSleep = Math.max(this.longestSleep, milliseconds)
    return () => this.sleeps.delete(sleep)
  }

  /** Writes a call down once it ends: "A+200", or "A!HEADGATE_TIMEOUT+200". */
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

  /** Moves the time on, stopping wherever somebody wakes. */
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

/** Lets every promise that can go on do so. */
export function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve))
}
