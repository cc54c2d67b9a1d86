import { setImmediate } from 'node:timers'
import { HeadgateError } from '../../errors.ts'

const nobody = (): void => {}

/**
 * A call that waits for its answer: settled once, by an answer, a failure or its deadline. Then it lets go of whoever
 * asked: a table that is used up may keep it until the next full collection.
 */
export class Pending<T> {
  /** Whether whoever asked has had an answer or an error. */
  over = false
  #resolve: (answer: T) => void
  #reject: (error: HeadgateError) => void
  readonly #settled: () => void

  constructor(resolve: (answer: T) => void, reject: (error: HeadgateError) => void, settled: () => void) {
    this.#resolve = resolve
    this.#reject = reject
    this.#settled = settled
  }

  answer(answer: T): void {
    const resolve = this.#resolve
    if (this.#settle()) resolve(answer)
  }

  fail(error: HeadgateError): void {
    const reject = this.#reject
    if (this.#settle()) reject(error)
  }

  #settle(): boolean {
    if (this.over) return false
    this.over = true
    this.#resolve = nobody
    this.#reject = nobody
    this.#settled()
    return true
  }
}

interface Watched {
  readonly pending: Pending<never>
  readonly until: number
}

/** The deadlines of all calls of a store: since all have as long, they come in the order of the calls. One timer. */
export class Deadlines {
  readonly #timeout: number
  readonly #error: () => HeadgateError
  #watched: Watched[] = []
  #waiting = 0
  #timer: NodeJS.Timeout | undefined

  /** @param timeout in milliseconds. @param error what a call is told that has had no answer by then */
  constructor(timeout: number, error: () => HeadgateError) {
    this.#timeout = timeout
    this.#error = error
  }

  /** A promise that is settled through its `Pending`, or by its deadline. */
  promise<T>(ask: (pending: Pending<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = new Pending(resolve, reject, this.#settled)
      this.#waiting++
      this.#watched.push({ pending, until: performance.now() + this.#timeout })
      this.#timer ??= setTimeout(this.#look, this.#timeout)
      ask(pending)
    })
  }

  readonly #settled = (): void => {
    if (--this.#waiting > 0) return
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#watched = []
  }

  /** An answer that has come while this process was busy still counts. */
  readonly #look = (): void => {
    setImmediate(() => {
      clearTimeout(this.#timer)
      const now = performance.now()
      const watched = this.#watched
      const due = watched.findIndex(({ until, pending }) => !pending.over && until > now)
      this.#watched = due < 0 ? [] : watched.slice(due)
      this.#timer = due < 0 ? undefined : setTimeout(this.#look, (watched[due] as Watched).until - now)
      for (const { pending } of due < 0 ? watched : watched.slice(0, due)) pending.fail(this.#error())
    })
  }
}

/** @param store what the error calls it. @param timeout in milliseconds */
export function deadlines(store: string, timeout: number): Deadlines {
  const text =
    `${store} did not answer within ${timeout} ms. Whether the call counted is not known. ` +
    'Look at its connection, or give it a longer timeout.'
  return new Deadlines(timeout, () => new HeadgateError('HEADGATE_STORE_TIMEOUT', text))
}
