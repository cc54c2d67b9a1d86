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

/** If a timer fires more than this many microseconds too late, the process was suspended. Smaller delays are normal. */
const standstill = 20_000

/**
 * The deadline for a function in the options, such as a key extractor. Without a deadline, a look-up that never answers would
 * hold the request and its socket forever. Only a promise gets a deadline: a synchronous function needs no timer.
 */
export class FunctionDeadline {
  /** The deadline in milliseconds. With Infinity, there is no deadline. */
  readonly #timeout: number

  constructor(timeout: Duration | undefined) {
    this.#timeout = timeoutOf(timeout, 'functionTimeout')
  }

  /** Resolves with the result of a function, or rejects at the deadline. @param option the name of the function in the options */
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
 * Calls `expire` after the timeout. If the function's answer has arrived while this process was busy, the answer is read before
 * `expire` is called. If the process was suspended, the function could not answer, so the timeout starts a second time.
 * @param timeout in milliseconds
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
