import type { HeadgateError, ListNode } from '../../common/index.ts'

const ignore = (): void => {}

/** An item with a deadline. While the item waits, it is a node of a linked list. */
export abstract class DeadlineItem implements ListNode<DeadlineItem> {
  due = 0
  waits = false
  /**
   * False if the store cannot have counted the call that waits. The error at the deadline then says that the call did not
   * count.
   */
  sent = true
  /** True if the deadline was extended because this process stood still. A deadline is extended only once. */
  moved = false
  before: DeadlineItem | undefined
  after: DeadlineItem | undefined

  /** Called when the deadline has passed. */
  abstract expire(error: HeadgateError): void
}

/** The list from which a call removes itself when the call has its result or its error. */
interface ItemList {
  remove(item: DeadlineItem): boolean
}

/**
 * A call that waits for its result. A call is settled once: by the result, by a failure or at its deadline. After that, the call has no
 * reference to its caller, because a queue may keep the call in memory for longer.
 */
export class PendingCall<T> extends DeadlineItem {
  /** True if the caller has got a result or an error. */
  settled = false
  #resolve: (result: T) => void
  #reject: (error: unknown) => void
  readonly #deadlines: ItemList

  constructor(deadlines: ItemList, resolve: (result: T) => void, reject: (error: unknown) => void) {
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
