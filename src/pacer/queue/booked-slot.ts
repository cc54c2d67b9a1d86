import type { Tickets } from '../../algorithms/evaluation/index.ts'
import { LinkedList, type ListNode, type Size, Slots } from '../../common/index.ts'
import { type CallCost, costsIn, sizeOf, sum } from '../pacer-cost.ts'
import { Task } from '../timers/index.ts'
import { PriorityQueue } from './priority-queue.ts'
import type { Waiter } from './waiter.ts'

/** A time at which the store has promised to admit a cost. A slot belongs to no waiter: the first waiter at that time uses the slot. */
export class Slot extends Task implements ListNode<Slot> {
  readonly cost: CallCost
  readonly tickets: Tickets | undefined
  readonly #onDue: (slot: Slot) => void
  /** True if the store does not know the time at which the call starts: the store failed, so this process booked or delayed the slot. */
  local = false
  before: Slot | undefined
  after: Slot | undefined

  constructor(cost: CallCost, tickets: Tickets | undefined, onDue: (slot: Slot) => void) {
    super()
    this.cost = cost
    this.tickets = tickets
    this.#onDue = onDue
  }

  get size(): Size {
    return sizeOf(this.cost)
  }

  run(): void {
    this.#onDue(this)
  }
}

/** The next slot (start time) of the same size. */
function next({ after, size }: Slot): Slot | undefined {
  let slot = after
  while (slot !== undefined && slot.size !== size) slot = slot.after
  return slot
}

/** The first waiters of each queue whose costs together are at most this cost. No waiter goes before one of its queue that does not fit. */
function fitting(cost: CallCost, queues: readonly Iterable<Waiter>[]): readonly Waiter[] {
  const found: Waiter[] = []
  let rest = costsIn(cost)
  for (const queue of queues) {
    for (const waiter of queue) {
      const after = sum(rest, -1, costsIn(waiter.cost))
      if (Math.min(...[after].flat()) < 0) break
      found.push(waiter)
      rest = after
    }
  }
  return found
}

/** The future slots (promised start times) of a key, and the waiters for these slots: by priority, then in the order in which they came. */
export class PacerSlots extends Slots<Slot, Waiter, PriorityQueue> {
  /**
   * The first spare slot of each size. Spare slots (start times) are those that no waiter needs: this slot and all later slots of its size.
   */
  readonly #spares = new Map<Size, Slot>()

  readonly #single: boolean

  /** @param single true if only one call may start at a time, as under Guava's limiters, which admit any cost as one call */
  constructor(single: boolean) {
    super(() => new PriorityQueue())
    this.#single = single
  }

  get hasSpares(): boolean {
    return this.#spares.size > 0
  }

  firstSpare(size: Size): Slot | undefined {
    return this.#spares.get(size)
  }

  addSpare(slot: Slot): void {
    this.list.add(slot)
    if (!this.#spares.has(slot.size)) this.#spares.set(slot.size, slot)
  }

  /** Lets a waiter have the first spare slot (start time), or a slot before it, by the order of the waiters. */
  useSpare(waiter: Waiter): void {
    this.addWaiter(waiter)
    const first = this.#spares.get(waiter.size)
    this.#setFirst(waiter.size, first && next(first))
  }

  /** Removes a waiter that needs no slot (start time) any more. The last slot that a waiter of its size needed is then spare. */
  leave(waiter: Waiter): void {
    if (this.remove(waiter)) this.#spareOneMore(waiter.size)
  }

  /**
   * Removes a slot whose time has come. Returns the waiter that uses the slot. If no waiter of its size needs the slot, returns the first
   * waiters that fit into it together.
   * @param unbooked waiters without a slot; undefined if no other waiter may use the slot
   */
  use(slot: Slot, unbooked: Iterable<Waiter> | undefined): readonly Waiter[] {
    const first = this.#spares.get(slot.size)
    let waiter = this.shift(slot.size)
    while (waiter?.stage === 'done') waiter = this.shift(slot.size)
    if (first === slot && waiter === undefined) this.#setFirst(slot.size, next(slot))
    else if (first !== undefined && waiter !== undefined && slot.order >= first.order) this.#spareOneMore(slot.size)
    this.list.remove(slot)
    if (waiter !== undefined) return [waiter]
    if (unbooked === undefined) return []
    const found = fitting(slot.cost, [...this.waiters.values(), unbooked])
    return this.#single ? found.slice(0, 1) : found
  }

  /**
   * The spare slots (start times), the last one first. They are no longer spare then.
   * @param size only the slots behind all slots that are not spare, or that a waiter of this size can use
   * @param after only the slots after this time, in microseconds
   */
  takeSpares(size?: Size, after = 0): Slot[] {
    const spares: Slot[] = []
    for (let slot = this.list.last; slot !== undefined && this.#spares.size > 0; slot = slot.before) {
      const first = slot.size === size ? undefined : this.#spares.get(slot.size)
      if (slot.at <= after || (first === undefined && size !== undefined)) break
      if (first !== undefined) spares.push(slot)
      if (first === slot) this.#spares.delete(slot.size)
    }
    return spares
  }

  #spareOneMore(size: Size): void {
    const first = this.#spares.get(size)
    let slot = first === undefined ? this.list.last : first.before
    while (slot !== undefined && slot.size !== size) slot = slot.before
    this.#setFirst(size, slot)
  }

  #setFirst(size: Size, first: Slot | undefined): void {
    if (first === undefined) this.#spares.delete(size)
    else this.#spares.set(size, first)
  }

  /**
   * The longest wait for which a slot (start time) is booked for a new waiter. Any wait if the waiter overtakes others, and so uses one of
   * their slots in time. @param most how long the waiter may wait
   */
  maxWaitFor(waiter: Waiter, most: number, now: number): number {
    const slot = most > 0 && most < Infinity ? this.#overtaken(waiter) : undefined
    return slot !== undefined && slot.at - now <= most ? Infinity : most
  }

  /** The slot (start time) that a new waiter would take from a waiter of lower priority. Undefined if no waiter has a lower priority. */
  #overtaken({ size, priority }: Waiter): Slot | undefined {
    const waiters = this.waiters.get(size)
    if (waiters?.last === undefined || waiters.last.priority >= priority) return undefined
    let ahead = 0
    for (const waiter of waiters) {
      if (waiter.priority < priority) break
      if (waiter.stage !== 'done') ahead++
    }
    for (const slot of this.list) if (slot.size === size && ahead-- === 0) return slot
    return undefined
  }

  /** Removes the waiters that are already admitted or refused. Returns the slots (start times) that no waiter will use now. */
  vacate(): Set<Slot> {
    const vacant = new Set<Slot>()
    this.#spares.clear()
    const queues = new Map([...this.waiters].map(([size, queue]) => [size, queue[Symbol.iterator]()]))
    for (const slot of this.list) {
      const waiter = queues.get(slot.size)?.next().value
      if (waiter === undefined || waiter.stage === 'done') vacant.add(slot)
      if (waiter?.stage === 'done') this.remove(waiter)
    }
    return vacant
  }
}

/** A slot (start time) that the user booked with `reserve`. `at` is the slot's time in microseconds. */
export interface ReservedSlot extends ListNode<ReservedSlot> {
  readonly at: number
}

/** Slots (start times) that the user booked with `reserve`, in the order of booking. No waiter of the queue uses these slots. */
export class ReservedSlots extends LinkedList<ReservedSlot> {
  prune(now: number): this {
    for (let { first } = this; first !== undefined && first.at <= now; first = this.first) this.remove(first)
    return this
  }
}
