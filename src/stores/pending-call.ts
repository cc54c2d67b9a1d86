import type { HeadgateError } from '../errors.ts'
import { DeadlineItem, Deadlines } from './deadlines.ts'
import { timeoutError } from './timeout-error.ts'

const ignore = (): void => {}

/**
 * A call that waits for its result. It is settled once: by the result, a failure or its deadline. Then it drops its
 * reference to the caller, because a queue may keep the call for longer.
 */
export class PendingCall<T> extends DeadlineItem {
  /** True once the caller has a result or an error. */
  settled = false
  #resolve: (result: T) => void
  #reject: (error: HeadgateError) => void
  readonly #calls: PendingCalls

  constructor(calls: PendingCalls, resolve: (result: T) => void, reject: (error: HeadgateError) => void) {
    super()
    this.#calls = calls
    this.#resolve = resolve
    this.#reject = reject
  }

  resolve(result: T): void {
    const resolve = this.#resolve
    if (this.#settle()) resolve(result)
  }

  reject(error: HeadgateError): void {
    const reject = this.#reject
    if (this.#settle()) reject(error)
  }

  expire(): void {
    this.reject(this.#calls.timeoutError())
  }

  #settle(): boolean {
    if (this.settled) return false
    this.settled = true
    this.#resolve = ignore
    this.#reject = ignore
    this.#calls.deadlines.remove(this)
    return true
  }
}

/** The calls of one store that wait for their results, each with a deadline. */
export class PendingCalls {
  readonly deadlines: Deadlines
  /** Makes the error of a call that has no result by its deadline. */
  readonly timeoutError: () => HeadgateError

  /**
   * @param who the name of the store in errors
   * @param timeout in milliseconds
   * @param fix what the error tells the user to do
   */
  constructor(who: string, timeout: number, fix?: string) {
    this.deadlines = new Deadlines(timeout)
    this.timeoutError = () => timeoutError(who, timeout, fix)
  }

  /** A promise for a new pending call, which `start` gets. */
  promise<T>(start: (call: PendingCall<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const call = new PendingCall(this, resolve, reject)
      this.deadlines.add(call)
      start(call)
    })
  }
}
