import type { Tickets } from '../../algorithms/evaluation/index.ts'
import { LinkedList, type ListNode, type Size, Slots } from '../../common/index.ts'
import { type CallCost, sizeOf } from '../pacer-cost.ts'
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

/** The future slots (promised start times) of a key, and the waiters for these slots: by priority, then in the order in which they came. */
export class PacerSlots extends Slots<Slot, Waiter, PriorityQueue> {
  /** How many slots (start times) of a size no waiter needs: the last ones of that size. The next waiters of the size use these slots. */
  readonly #spares = new Map<Size, number>()

  constructor() {
    super(() => new PriorityQueue())
  }

  get hasSpares(): boolean {
    return this.#spares.size > 0
  }

  addSpare(slot: Slot): void {
    this.list.add(slot)
    this.#spare(slot.size, 1)
  }

  /** The first slot (start time) of a size that no waiter needs. */
  firstSpare(size: Size): Slot | undefined {
    let left = this.#spares.get(size) ?? 0
    let slot = left > 0 ? this.list.last : undefined
    while (slot !== undefined && (slot.size !== size || --left > 0)) slot = slot.before
    return slot
  }

  /** Lets a waiter have the first slot (start time) that no waiter needs, or a slot before it, by the order of the waiters. */
  useSpare(waiter: Waiter): void {
    this.addWaiter(waiter)
    this.#spare(waiter.size, -1)
  }

  /** Removes a waiter that needs no slot (start time) any more. */
  leave(waiter: Waiter): void {
    if (this.remove(waiter)) this.#spare(waiter.size, 1)
  }

  /** Removes a slot whose time has come. Returns the waiter that uses the slot. Undefined if no waiter needs the slot. */
  use(slot: Slot): Waiter | undefined {
    this.list.remove(slot)
    let waiter = this.shift(slot.size)
    while (waiter?.stage === 'done') waiter = this.shift(slot.size)
    if (waiter === undefined) this.#spare(slot.size, -1)
    return waiter
  }

  /** The slots (start times) that no waiter needs, the last one first. From now on, they do not count as slots for new waiters. */
  takeSpares(): Slot[] {
    const spares: Slot[] = []
    for (let slot = this.list.last; slot !== undefined && this.#spares.size > 0; slot = slot.before) {
      if (!this.#spares.has(slot.size)) continue
      spares.push(slot)
      this.#spare(slot.size, -1)
    }
    return spares
  }

  #spare(size: Size, change: 1 | -1): void {
    const spares = (this.#spares.get(size) ?? 0) + change
    if (spares > 0) this.#spares.set(size, spares)
    else this.#spares.delete(size)
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
    if (waiters === undefined || waiters.lowest >= priority) return undefined
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
