/*
 * The requests that wait for `delay`, and the times that are booked for them.
 *
 * A booked time (a slot) belongs to no request. When it comes, the request that has waited the longest for its key goes.
 * When a client leaves, those behind it move up, and the slot that was booked last is given back:
 *
 *     slots       |100     |200     |300     |400         B leaves: C moves up to 200, D to 300, and the slot at 400 is
 *     requests     A        B        C        D           given back, which is exact because no slot is booked behind it
 *
 * If the slot of B were given back, C and D would keep their times. Then clients that leave would take the places of those
 * that stay. Only slots of one cost can be exchanged, so each key has a line for each cost.
 */
import type { Key } from '../limiter.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import type { Reservation } from '../reservation.ts'

/** How the wait of a request ended. */
export interface WaitEnd {
  /** False if its client left. */
  readonly stays: boolean
  /** The reservation of the slot that it used, or of the one that it leaves over, which is to be given back. */
  readonly reservation: Reservation
}

interface Slot extends ListNode<Slot> {
  readonly reservation: Reservation
  readonly timer: ReturnType<typeof setTimeout>
}

/** The slots of one key and cost, in the order they were booked, and as many requests, in the order they came. */
interface Line {
  readonly slots: LinkedList<Slot>
  readonly requests: Set<(end: WaitEnd) => void>
}

export class BookedSlots {
  /** By key and cost. A line is removed when nobody waits in it, so there are never more lines than requests. */
  readonly #lines = new Map<string, Line>()

  /** How many lines there are. */
  get size(): number {
    return this.#lines.size
  }

  /**
   * Waits for a slot of the key.
   * @param reservation the slot that was booked when the request came
   * @param onEnd calls its argument when the response has ended. During the wait, that happens only if the client leaves
   */
  wait(key: Key, cost: number, reservation: Reservation, onEnd: (left: () => void) => void): Promise<WaitEnd> {
    return new Promise((resolve) => {
      const name = nameOf(key, cost)
      const line = this.#lines.get(name) ?? { slots: new LinkedList<Slot>(), requests: new Set() }
      this.#lines.set(name, line)
      const due = () => this.#go(name, line, slot)
      const timer = setTimeout(due, reservation.wait)
      const slot: Slot = { reservation, timer, before: undefined, after: undefined }
      line.slots.add(slot)
      line.requests.add(resolve)
      onEnd(() => this.#leave(name, line, resolve))
    })
  }

  /** The request that has waited the longest uses the slot. */
  #go(name: string, line: Line, slot: Slot): void {
    const [first] = line.requests
    if (first !== undefined) this.#end(name, line, first, slot, true)
  }

  /** The slot that was booked last is left over. */
  #leave(name: string, line: Line, request: (end: WaitEnd) => void): void {
    const { last } = line.slots
    if (last === undefined || !line.requests.has(request)) return
    clearTimeout(last.timer)
    this.#end(name, line, request, last, false)
  }

  #end(name: string, line: Line, request: (end: WaitEnd) => void, slot: Slot, stays: boolean): void {
    line.slots.remove(slot)
    line.requests.delete(request)
    if (line.requests.size === 0) this.#lines.delete(name)
    request({ stays, reservation: slot.reservation })
  }
}

function nameOf(key: Key, cost: number): string {
  return `${cost} ${typeof key === 'string' ? key : JSON.stringify(key)}`
}
