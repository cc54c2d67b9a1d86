import type { Breaker } from './breaker.ts'

/** The most operations kept; then the oldest is dropped. */
const most = 10_000

/** Gives units of these keys back. */
interface Task {
  readonly scopes: readonly string[]
  readonly keys: readonly string[]
  readonly run: () => Promise<unknown>
}

/** What could not be given back to the store while it was away, and is once it answers. */
export class Postponed {
  readonly #breaker: Breaker
  #tasks: Task[] = []
  #waiting = false

  constructor(breaker: Breaker) {
    this.#breaker = breaker
  }

  /** Runs it now if the store answers, else when it does: once, whatever comes of it, and in the order they came. */
  add(task: Task): void {
    if (this.#tasks.length >= most) this.#tasks.shift()
    this.#tasks.push(task)
    if (this.#waiting) return
    this.#waiting = true
    if (this.#breaker.closed) void this.#run()
    else this.#breaker.whenAnswering(() => void this.#run())
  }

  /** Nothing is given back to a key that was reset since: it is like new. */
  forget(scopes: readonly string[], keys: readonly string[]): void {
    const concerns = (task: Task) =>
      scopes.some((scope, n) => task.scopes.includes(scope) && task.keys[task.scopes.indexOf(scope)] === keys[n])
    if (this.#tasks.length > 0) this.#tasks = this.#tasks.filter((task) => !concerns(task))
  }

  /** As long as the store answers. */
  async #run(): Promise<void> {
    let task = this.#tasks.shift()
    while (task !== undefined) {
      await task.run().catch(() => undefined)
      task = this.#breaker.closed ? this.#tasks.shift() : undefined
    }
    this.#waiting = this.#tasks.length > 0
    if (this.#waiting) this.#breaker.whenAnswering(() => void this.#run())
  }
}
