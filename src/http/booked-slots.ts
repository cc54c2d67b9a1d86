/*
 * The requests that wait for `delay`: see src/common/slots.ts for how they use booked times.
 *
 * While a request of the queue waits for the store's response, nobody knows which slot was booked last. A slot that is
 * left over in that time is given back later, and the next request may use it before.
 */

import { isolatesRequests } from '#platform'
import { LinkedList, type ListNode, Slots } from '../common/index.ts'
import type { Key, Reservation, Units } from '../limiter/index.ts'

/** A request whose units are booked for a later time. */
export interface Booked {
  readonly key: Key
  readonly cost: Units
  /** The slot that was booked when the request came. */
  readonly reservation: Reservation
  /** Gives the slot back if it is left over. */
  readonly giveBack: () => void
}

interface Slot extends ListNode<Slot> {
  readonly size: string
  readonly booked: Booked
  readonly timer: ReturnType<typeof setTimeout>
}

interface Waiting extends ListNode<Waiting> {
  readonly size: string
  /** Ends the wait: with the reservation of the slot that the request uses, or with undefined if its client left. */
  readonly end: (reservation: Reservation | undefined) => void
}

/** The requests of one key and cost, in the order they came. */
class SlotQueue extends Slots<Slot, Waiting, LinkedList<Waiting>> {
  /** How many slots are left over, because the clients of their requests have left. */
  spare = 0
  /** How many requests wait for the store's response. */
  asking = 0

  constructor() {
    super(() => new LinkedList())
  }
}

export class BookedSlots {
  /** The queues by key and cost. A queue without a waiting request is removed, so queues never outnumber requests. */
  readonly #queues = new Map<string, SlotQueue>()

  get size(): number {
    return this.#queues.size
  }

  /**
   * Call this when the store is asked for a slot. Call the returned function when the store has answered, with true if
   * the request waits next: only then is it known which slot was booked last.
   */
  ask(key: Key, cost: Units): (waits: boolean) => void {
    const name = nameOf(key, cost)
    const queue = this.#queueOf(name)
    queue.asking++
    return (waits) => {
      queue.asking--
      if (!waits) this.#tidy(name, queue)
    }
  }

  /**
   * Waits for a slot of the key. Resolves to the reservation of the slot that the request uses, or to undefined if its
   * client left.
   * @param onEnd calls its argument when the response has ended. During the wait, that happens only if the client leaves
   */
  wait(booked: Booked, onEnd: (left: () => void) => void): Promise<Reservation | undefined> {
    if (isolatesRequests) return waitAlone(booked, onEnd)
    return new Promise((end) => {
      const size = nameOf(booked.key, booked.cost)
      const queue = this.#queueOf(size)
      const timer = setTimeout(() => this.#go(queue, slot), booked.reservation.wait)
      const slot: Slot = { size, booked, timer, before: undefined, after: undefined }
      const waiting: Waiting = { size, end, before: undefined, after: undefined }
      queue.add(slot, waiting)
      onEnd(() => this.#leave(queue, waiting))
      this.#tidy(size, queue)
    })
  }

  #queueOf(name: string): SlotQueue {
    const queue = this.#queues.get(name) ?? new SlotQueue()
    this.#queues.set(name, queue)
    return queue
  }

  /** The request that has waited the longest uses the slot. */
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

  /** Gives back the slots that are left over, the last one first, and forgets the queue if it is empty. */
  #tidy(name: string, queue: SlotQueue): void {
    if (queue.asking > 0) return
    for (; queue.spare > 0; queue.spare--) {
      const last = queue.list.last as Slot
      queue.list.remove(last)
      clearTimeout(last.timer)
      last.booked.giveBack()
    }
    if (queue.list.first === undefined && this.#queues.get(name) === queue) this.#queues.delete(name)
  }
}

/** Waits for the request's own slot: where no request can wake another one, a client that left cannot pass its slot on. */
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

function nameOf(key: Key, cost: Units): string {
  const units = typeof cost === 'number' ? cost : JSON.stringify(cost)
  return `${units} ${typeof key === 'string' ? key : JSON.stringify(key)}`
}
