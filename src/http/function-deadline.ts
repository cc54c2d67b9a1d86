import { afterPendingEvents } from '#platform'
import {
  type Duration,
  duration,
  HeadgateError,
  longestSleep,
  monotonicClock,
  realSleeper,
  unbounded,
} from '../common/index.ts'

const timeoutOf = unbounded(duration('5s', { usual: 100 }))

/** A process whose timer fires this much later than due stood still, in microseconds. Less is the noise of timers. */
const standstill = 20_000

/**
 * How long a request waits for a function in the options. Without it, a look-up that never answers would hold the
 * request and its socket without end. Only a promise gets a deadline: a synchronous function sets no timer.
 */
export class FunctionDeadline {
  /** The deadline in milliseconds. Infinity if requests wait as long as the function takes. */
  readonly #timeout: number

  constructor(timeout: Duration | undefined) {
    this.#timeout = timeoutOf(timeout, 'functionTimeout')
  }

  /**
   * Resolves with the answer of a function, or rejects at the deadline.
   * @param option the name of the function
   */
  bound<T>(answer: Promise<T>, option: string): Promise<T> {
    const timeout = this.#timeout
    if (timeout === Infinity) return answer
    return new Promise((resolve, reject) => {
      const cancel = whenPassed(timeout, () => reject(noAnswer(option, timeout)))
      answer.then(resolve, reject).then(cancel)
    })
  }
}

const sleep = realSleeper()

/**
 * Calls `expire` once the timeout has passed. An answer that arrived while this process was busy is read before. If the
 * process stood still, the function had no chance to answer, so it gets the same time again, once.
 * @returns a function that cancels the timer
 */
function whenPassed(timeout: number, expire: () => void, isFirst = true): () => void {
  const due = monotonicClock() + timeout * 1000
  let cancel = sleep(Math.min(timeout, longestSleep), () => {
    if (isFirst && monotonicClock() - due > standstill) cancel = whenPassed(timeout, expire, false)
    else afterPendingEvents(expire)
  })
  return () => cancel()
}

function noAnswer(option: string, timeout: number): HeadgateError {
  return new HeadgateError(
    'HEADGATE_FUNCTION_TIMEOUT',
    `${option} did not answer within ${timeout} ms, so the request cannot be decided. Give its look-up a shorter ` +
      `timeout, or this middleware a longer one: functionTimeout: '10s'.`,
  )
}
