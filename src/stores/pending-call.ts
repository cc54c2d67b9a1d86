import type { HeadgateError } from '../errors.ts'
import type { ListNode } from '../linked-list.ts'

/** An item with a deadline. It is its own list node, linked to its neighbours while it waits. */
export abstract class DeadlineItem implements ListNode<DeadlineItem> {
  due = 0
  waits = false
  /** False as long as the store cannot have counted anything. */
  sent = true
  /** True once the deadline was moved because this process stood still. That happens once. */
  moved = false
  before: DeadlineItem | undefined
  after: DeadlineItem | undefined

  /** Called when the deadline has passed. */
  abstract expire(error: HeadgateError): void
}

const ignore = (): void => {}

interface Remover {
  remove(item: DeadlineItem): boolean
}

/**
 * A call that waits for its result. It is settled once: by the result, a failure or its deadline. Then it drops its
 * reference to the caller, because a queue may keep the call for longer.
 */
export class PendingCall<T> extends DeadlineItem {
  /** True once the caller has a result or an error. */
  settled = false
  #resolve: (result: T) => void
  #reject: (error: unknown) => void
  readonly #deadlines: Remover

  constructor(deadlines: Remover, resolve: (result: T) => void, reject: (error: unknown) => void) {
    super()
    this.#deadlines = deadlines
    this.#resolve = resolve
    this.#reject = reject
  }

  resolve(result: T): void {
    const resolve = this.#resolve
    if (this.#settle()) resolve(result)
  }

  reject(error: unknown): void {
    const reject = this.#reject
    if (this.#settle()) reject(error)
  }

  expire(error: HeadgateError): void {
    this.reject(error)
  }

  #settle(): boolean {
    if (this.settled) return false
    this.settled = true
    this.#resolve = ignore
    this.#reject = ignore
    this.#deadlines.remove(this)
    return true
  }
}
