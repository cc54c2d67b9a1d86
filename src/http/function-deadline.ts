import { type Duration, milliseconds } from '../duration.ts'
import { HeadgateError } from '../errors.ts'
import { longestSleep } from '../sleeper.ts'
import { Deadlines } from '../stores/deadlines.ts'

/** In milliseconds. */
const defaultTimeout = 5000

/**
 * How long a request waits for a function in the options. Without it, a look-up that never answers would hold the
 * request and its socket for ever. Only a promise gets a deadline: a synchronous function sets no timer.
 */
export class FunctionDeadline {
  /** Undefined if requests wait as long as the function does. */
  readonly #deadlines: Deadlines | undefined

  /** @throws HeadgateError `HEADGATE_OPTION` */
  constructor(timeout: Duration | undefined = defaultTimeout) {
    if (timeout === Number.POSITIVE_INFINITY) return
    const limit = milliseconds(timeout, 'functionTimeout', 'HEADGATE_OPTION')
    this.#deadlines = new Deadlines(Math.min(limit, longestSleep))
  }

  /**
   * The same answer, or a rejection at the deadline.
   * @param option the name of the function
   */
  bound<T>(answer: Promise<T>, option: string): Promise<T> {
    const deadlines = this.#deadlines
    return deadlines === undefined ? answer : deadlines.bound(answer, () => noAnswer(option, deadlines.timeout))
  }
}

function noAnswer(option: string, timeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_FUNCTION_TIMEOUT',
    `${option} did not answer within ${timeout} ms, so the request cannot be decided. Give its look-up a shorter ` +
      `timeout, or this middleware a longer one: functionTimeout: '10s'.`,
  )
}
