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
 * that stay. Only slots of one cost can be exchanged, so each key has a queue for each cost.
 *
 * While a request of the queue waits for the store's response, the slot that was booked last is not known. Then the slot that
 * is left over stays, so that those who come can use it, and is given back later.
 */
import type { Key, Units } from '../limiter.ts'
import type { Reservation } from '../reservation.ts'

/** A request whose units are booked for a later time. */
export interface Booked {
  readonly key: Key
  readonly cost: Units
  /** The slot that was booked when the request came. */
  readonly reservation: Reservation
  /** Gives the slot back if it is left over. */
  readonly giveBack: () => void
}

interface Slot {
  readonly booked: Booked
  readonly timer: ReturnType<typeof setTimeout>
}

/** Ends a wait: with the reservation of the slot that the request uses, or with undefined if its client left. */
type End = (reservation: Reservation | undefined) => void

/** The slots of one key and cost, in the order they were booked, and the requests, in the order they came. */
class SlotQueue {
  /** One for each request, and there may be more. */
  readonly slots: Slot[] = []
  readonly requests = new Set<End>()
  /** How many requests wait for the store's response. */
  asking = 0

  get empty(): boolean {
    return this.slots.length === 0 && this.asking === 0
  }

  /** Gives back the slots that are left over, the last one first. */
  trim(): void {
    while (this.asking === 0 && this.slots.length > this.requests.size) {
      const { timer, booked } = this.slots.pop() as Slot
      clearTimeout(timer)
      booked.giveBack()
    }
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
    return new Promise((resolve) => {
      const name = nameOf(booked.key, booked.cost)
      const queue = this.#queueOf(name)
      const timer = setTimeout(() => this.#go(name, queue, slot), booked.reservation.wait)
      const slot = { booked, timer }
      queue.slots.push(slot)
      queue.requests.add(resolve)
      onEnd(() => this.#leave(name, queue, resolve))
      this.#tidy(name, queue)
    })
  }

  #queueOf(name: string): SlotQueue {
    const queue = this.#queues.get(name) ?? new SlotQueue()
    this.#queues.set(name, queue)
    return queue
  }

  /** The request that has waited the longest uses the slot. */
  #go(name: string, queue: SlotQueue, slot: Slot): void {
    const [first] = queue.requests
    queue.slots.splice(queue.slots.indexOf(slot), 1)
    if (first === undefined) slot.booked.giveBack()
    else {
      queue.requests.delete(first)
      first(slot.booked.reservation)
    }
    this.#tidy(name, queue)
  }

  #leave(name: string, queue: SlotQueue, request: End): void {
    if (!queue.requests.delete(request)) return
    this.#tidy(name, queue)
    request(undefined)
  }

  #tidy(name: string, queue: SlotQueue): void {
    queue.trim()
    if (queue.empty && this.#queues.get(name) === queue) this.#queues.delete(name)
  }
}

function nameOf(key: Key, cost: Units): string {
  const units = typeof cost === 'number' ? cost : JSON.stringify(cost)
  return `${units} ${typeof key === 'string' ? key : JSON.stringify(key)}`
}
