import type { HeadgateError } from '../../errors.ts'
import { Deadlines, Due } from '../deadlines.ts'
import { unanswered } from '../unanswered.ts'

const nobody = (): void => {}

/**
 * A call that waits for its answer: settled once, by an answer, a failure or its deadline. Then it lets go of whoever
 * asked: a table that is used up may keep it until the next full collection.
 */
export class Pending<T> extends Due {
  /** Whether whoever asked has had an answer or an error. */
  over = false
  #resolve: (answer: T) => void
  #reject: (error: HeadgateError) => void
  readonly #answers: Answers

  constructor(answers: Answers, resolve: (answer: T) => void, reject: (error: HeadgateError) => void) {
    super()
    this.#answers = answers
    this.#resolve = resolve
    this.#reject = reject
  }

  answer(answer: T): void {
    const resolve = this.#resolve
    if (this.#settle()) resolve(answer)
  }

  fail(error: HeadgateError): void {
    const reject = this.#reject
    if (this.#settle()) reject(error)
  }

  expire(): void {
    this.fail(this.#answers.late())
  }

  #settle(): boolean {
    if (this.over) return false
    this.over = true
    this.#resolve = nobody
    this.#reject = nobody
    this.#answers.deadlines.remove(this)
    return true
  }
}

/** Answers that are promised, each within the deadline. */
export class Answers {
  readonly deadlines: Deadlines
  /** What a call is told that has had no answer by then. */
  readonly late: () => HeadgateError

  /** @param who has to answer. @param timeout in milliseconds. @param fix what to do about it */
  constructor(who: string, timeout: number, fix?: string) {
    this.deadlines = new Deadlines(timeout)
    this.late = () => unanswered(who, timeout, fix)
  }

  /** A promise that is settled through its `Pending`, or by its deadline. */
  promise<T>(ask: (pending: Pending<T>) => void): Promise<T> {
    return new Promise((resolve, reject) => {
      const pending = new Pending(this, resolve, reject)
      this.deadlines.add(pending)
      ask(pending)
    })
  }
}
