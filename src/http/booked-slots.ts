/*
 * The requests that wait for `delay`: see src/slots.ts for how they use booked times.
 *
 * While a request of the queue waits for the store's response, the slot that was booked last is not known. Then a slot that
 * is left over stays, so that those who come can use it, and is given back later.
 */
import type { Key, Units } from '../limiter.ts'
import { LinkedList, type ListNode } from '../linked-list.ts'
import type { Reservation } from '../reservation.ts'
import { Slots } from '../slots.ts'

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
  readonly booked: Booked
  readonly timer: ReturnType<typeof setTimeout>
}

interface Waiting extends ListNode<Waiting> {
  /** Ends the wait: with the reservation of the slot that the request uses, or with undefined if its client left. */
  readonly end: (reservation: Reservation | undefined) => void
}

/** The requests of one key and cost, in the order they came. */
class SlotQueue extends Slots<Slot, Waiting> {
  readonly name: string
  /** How many requests wait for the store's response. */
  asking = 0

  constructor(name: string) {
    super(new LinkedList<Waiting>())
    this.name = name
  }
}

export class BookedSlots {
  /** By key and cost. A queue is removed when nobody waits in it, so there are never more queues than requests. */
  readonly #queues = new Map<string, SlotQueue>()

  /** How many queues there are. */
  get size(): number {
    return this.#queues.size
  }

  /**
   * Call it when the store is asked for a slot, and what it returns when the store has answered, with true if the request
   * waits next: only then is the last slot known.
   */
  ask(key: Key, cost: Units): (waits: boolean) => void {
    const queue = this.#queueOf(key, cost)
    queue.asking++
    return (waits) => {
      queue.asking--
      if (!waits) this.#tidy(queue)
    }
  }

  /**
   * Waits for a slot of the key. Resolves to the reservation of the slot that the request uses, or to undefined if its
   * client left.
   * @param onEnd calls its argument when the response has ended. During the wait, that happens only if the client leaves
   */
  wait(booked: Booked, onEnd: (left: () => void) => void): Promise<Reservation | undefined> {
    return new Promise((end) => {
      const queue = this.#queueOf(booked.key, booked.cost)
      const timer = setTimeout(() => this.#go(queue, slot), booked.reservation.wait)
      const slot: Slot = { booked, timer, before: undefined, after: undefined }
      const waiting: Waiting = { end, before: undefined, after: undefined }
      queue.add(slot, waiting)
      onEnd(() => this.#leave(queue, waiting))
      this.#tidy(queue)
    })
  }

  #queueOf(key: Key, cost: Units): SlotQueue {
    const name = nameOf(key, cost)
    const queue = this.#queues.get(name) ?? new SlotQueue(name)
    this.#queues.set(name, queue)
    return queue
  }

  /** The request that has waited the longest uses the slot. */
  #go(queue: SlotQueue, slot: Slot): void {
    const first = queue.take(slot)
    if (first === undefined) slot.booked.giveBack()
    else first.end(slot.booked.reservation)
    this.#tidy(queue)
  }

  #leave(queue: SlotQueue, waiting: Waiting): void {
    queue.leave(waiting)
    this.#tidy(queue)
    waiting.end(undefined)
  }

  /** Gives back the slots that are left over, and forgets the queue if it is empty. */
  #tidy(queue: SlotQueue): void {
    if (queue.asking > 0) return
    for (let slot = queue.takeSpare(); slot !== undefined; slot = queue.takeSpare()) {
      clearTimeout(slot.timer)
      slot.booked.giveBack()
    }
    if (queue.empty && this.#queues.get(queue.name) === queue) this.#queues.delete(queue.name)
  }
}

function nameOf(key: Key, cost: Units): string {
  const units = typeof cost === 'number' ? cost : JSON.stringify(cost)
  return `${units} ${typeof key === 'string' ? key : JSON.stringify(key)}`
}
