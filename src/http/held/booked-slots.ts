/*
 * The requests that wait because of the option `delay`. src/common/slots.ts explains how they use booked times (slots).
 *
 * If a client disconnects, one slot becomes unused, and the slot that was booked last is refunded. While the store has not answered
 * a request of the queue, it is not known which slot was booked last, so the refund waits for the answer. A refund takes as long as an
 * answer, and a slot that is booked meanwhile would be behind a gap. So on an asynchronous store, unused slots are refunded when no request
 * of the queue waits any more, and a request that the store refuses uses an unused slot, if there is one.
 */

import { isolatesRequests } from '#platform'
import { LinkedList, type ListNode, Slots } from '../../common/index.ts'
import type { AnyCost, Key, Reservation } from '../../limiter/index.ts'

/** A request whose units are reserved for a later time. */
export interface Booked {
  readonly key: Key
  readonly cost: AnyCost
  /** The reservation of the slot (a booked time) of this request. */
  readonly reservation: Reservation
  /** Refunds the units of the slot (a booked time). Called if no request uses the slot. */
  readonly giveBack: () => void
}

interface Slot extends ListNode<Slot> {
  readonly size: string
  readonly booked: Booked
  readonly timer: ReturnType<typeof setTimeout>
}

interface Waiting extends ListNode<Waiting> {
  readonly size: string
  /** Ends the wait. The argument is the reservation of the slot that the request uses, or undefined if the client disconnected. */
  readonly end: (reservation: Reservation | undefined) => void
}

/** The waiting requests of one key and cost, in the order of arrival. */
class SlotQueue extends Slots<Slot, Waiting, LinkedList<Waiting>> {
  /** How many slots (booked times) are unused, because the clients of their requests have disconnected. */
  spare = 0
  /** How many requests wait for an answer of the store. */
  asking = 0
  /** True if the store is asynchronous. */
  asked = false
  /** The reservations of the slots in the list. */
  readonly booked = new WeakSet<Reservation>()

  constructor() {
    super(() => new LinkedList())
  }
}

export class BookedSlots {
  /** The queues, by key and cost. An empty queue is removed, so there are never more queues than requests. */
  readonly #queues = new Map<string, SlotQueue>()

  get size(): number {
    return this.#queues.size
  }

  /**
   * Call `ask` when you ask the store for a slot (a booked time). Call the returned function after the store has answered, with true if
   * `wait` is called next. No slot is refunded between the two calls: only the slot that was booked last can be refunded, and the store may
   * be booking a later one.
   */
  ask(key: Key, cost: AnyCost): (waits: boolean) => void {
    if (isolatesRequests) return () => {} // no request uses the slot of another one
    const name = nameOf(key, cost)
    const queue = this.#queueOf(name)
    queue.asking++
    queue.asked = true
    return (waits) => {
      queue.asking--
      if (!waits) this.#tidy(name, queue)
    }
  }

  /**
   * Takes an unused slot (a booked time) for a request that the store has refused. Returns a reservation to pass to `wait` in the same
   * turn of the event loop. Undefined if no slot is unused.
   */
  takeSpare(key: Key, cost: AnyCost): Reservation | undefined {
    const queue = this.#queues.get(nameOf(key, cost))
    if (queue === undefined || queue.spare === 0) return undefined
    queue.spare--
    return queue.list.last?.booked.reservation
  }

  /**
   * Waits for a slot (a booked time) of the key. Resolves to the reservation of the slot that the request uses. Resolves to undefined if
   * the client disconnected.
   * @param onEnd calls its argument when the response has ended. During the wait, a response ends only if the client disconnects
   */
  wait(booked: Booked, onEnd: (left: () => void) => void): Promise<Reservation | undefined> {
    if (isolatesRequests) return waitAlone(booked, onEnd)
    return new Promise((end) => {
      const size = nameOf(booked.key, booked.cost)
      const queue = this.#queueOf(size)
      const waiting: Waiting = { size, end, before: undefined, after: undefined }
      if (!queue.booked.has(booked.reservation)) queue.list.add(this.#slotOf(queue, size, booked))
      queue.addWaiter(waiting)
      onEnd(() => this.#leave(queue, waiting))
      this.#tidy(size, queue)
    })
  }

  #slotOf(queue: SlotQueue, size: string, booked: Booked): Slot {
    queue.booked.add(booked.reservation)
    const timer = setTimeout(() => this.#go(queue, slot), booked.reservation.wait)
    const slot: Slot = { size, booked, timer, before: undefined, after: undefined }
    return slot
  }

  #queueOf(name: string): SlotQueue {
    const queue = this.#queues.get(name) ?? new SlotQueue()
    this.#queues.set(name, queue)
    return queue
  }

  /**
   * Called at the time of a slot. The request that has waited the longest uses the slot's units. If no request waits, the units are
   * refunded.
   */
  #go(queue: SlotQueue, slot: Slot): void {
    queue.list.remove(slot)
    const first = queue.shift(slot.size)
    if (first === undefined) {
      queue.spare--
      slot.booked.giveBack()
    } else first.end(slot.booked.reservation)
    this.#tidy(slot.size, queue)
  }

  #leave(queue: SlotQueue, waiting: Waiting): void {
    if (!queue.remove(waiting)) return
    queue.spare++
    this.#tidy(waiting.size, queue)
    waiting.end(undefined)
  }

  /**
   * Refunds the unused slots (booked times), beginning with the slot that was booked last, and removes the queue if it is empty. Does
   * nothing while the store has not answered a request of the queue.
   */
  #tidy(name: string, queue: SlotQueue): void {
    if (queue.asking > 0 || (queue.asked && queue.waiters.size > 0)) return
    for (; queue.spare > 0; queue.spare--) {
      const last = queue.list.last as Slot
      queue.list.remove(last)
      clearTimeout(last.timer)
      last.booked.giveBack()
    }
    if (queue.list.first === undefined && this.#queues.get(name) === queue) this.#queues.delete(name)
  }
}

/** Waits for the time that was booked for this very request. Used in Cloudflare Workers, where one request cannot wake another request. */
function waitAlone(
  { reservation, giveBack }: Booked,
  onEnd: (left: () => void) => void,
): Promise<Reservation | undefined> {
  return new Promise((end) => {
    let waits = true
    setTimeout(() => {
      waits = false
      end(reservation)
    }, reservation.wait)
    onEnd(() => {
      if (waits) giveBack()
      waits = false
      end(undefined)
    })
  })
}

function nameOf(key: Key, cost: AnyCost): string {
  const units = typeof cost === 'number' ? cost : JSON.stringify(cost)
  return `${units} ${typeof key === 'string' ? key : JSON.stringify(key)}`
}
