import type { Duration } from '../duration.ts'
import { HeadgateError } from '../errors.ts'
import { duration, unbounded } from '../option-readers.ts'
import { longestSleep } from '../sleeper.ts'
import { DeadlineItem, Deadlines } from '../stores/deadlines.ts'

const timeoutOf = unbounded(duration('5s'))

/**
 * How long a request waits for a function in the options. Without it, a look-up that never answers would hold the
 * request and its socket without end. Only a promise gets a deadline: a synchronous function sets no timer.
 */
export class FunctionDeadline {
  /** In milliseconds. */
  readonly #timeout: number
  /** Undefined if requests wait as long as the function does. */
  readonly #deadlines: Deadlines | undefined

  /** @throws HeadgateError `HEADGATE_OPTION` */
  constructor(timeout: Duration | undefined) {
    this.#timeout = timeoutOf(timeout, 'functionTimeout')
    if (this.#timeout < Infinity) this.#deadlines = new Deadlines('A function', Math.min(this.#timeout, longestSleep))
  }

  /**
   * The same answer, or a rejection at the deadline.
   * @param option the name of the function
   */
  bound<T>(answer: Promise<T>, option: string): Promise<T> {
    const deadlines = this.#deadlines
    if (deadlines === undefined) return answer
    return new Promise((resolve, reject) => {
      const call = new FunctionCall(() => reject(noAnswer(option, this.#timeout)))
      deadlines.add(call)
      answer.then(
        (value) => deadlines.remove(call) && resolve(value),
        (error) => deadlines.remove(call) && reject(error),
      )
    })
  }
}

class FunctionCall extends DeadlineItem {
  readonly expire: () => void

  constructor(expire: () => void) {
    super()
    this.expire = expire
  }
}

function noAnswer(option: string, timeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_FUNCTION_TIMEOUT',
    `${option} did not answer within ${timeout} ms, so the request cannot be decided. Give its look-up a shorter ` +
      `timeout, or this middleware a longer one: functionTimeout: '10s'.`,
  )
}
