import { PriorityQueue } from './priority-queue.ts'
import type { Slot, Slots } from './slot.ts'
import type { Waiter } from './waiter.ts'

/** Who has a turn, in one line for each cost: there are as many turns of a cost as there are in its line. */
export class QueuesByCost {
  readonly #lines = new Map<number, PriorityQueue>()

  /** Whether they differ in cost. */
  get mixed(): boolean {
    return this.#lines.size > 1
  }

  add(waiter: Waiter): void {
    let line = this.#lines.get(waiter.cost)
    if (line === undefined) {
      line = new PriorityQueue()
      this.#lines.set(waiter.cost, line)
    }
    line.add(waiter)
  }

  remove(waiter: Waiter): void {
    const line = this.#lines.get(waiter.cost)
    line?.remove(waiter)
    if (line?.first === undefined) this.#lines.delete(waiter.cost)
  }

  /** Takes out who is first of that cost and has not left. */
  take(cost: number): Waiter | undefined {
    for (let waiter = this.#lines.get(cost)?.first; waiter !== undefined; waiter = this.#lines.get(cost)?.first) {
      this.remove(waiter)
      if (waiter.stage !== 'done') return waiter
    }
    return undefined
  }

  /** Takes out everyone, as they came. */
  clear(): Waiter[] {
    const waiters = [...this.#lines.values()].flatMap((line) => [...line]).filter(({ stage }) => stage !== 'done')
    for (const line of this.#lines.values()) while (line.shift() !== undefined);
    this.#lines.clear()
    return waiters.sort((a, b) => a.number - b.number)
  }

  /** The turns of those who have left, who are taken out now. */
  vacant(turns: Slots): Set<Slot> {
    const vacant = new Set<Slot>()
    const waiters = new Map([...this.#lines].map(([cost, line]) => [cost, line[Symbol.iterator]()]))
    for (let turn = turns.first; turn !== undefined; turn = turn.after) {
      if (turn.lot.reserved) continue
      const waiter = waiters.get(turn.lot.cost)?.next().value
      if (waiter === undefined || waiter.stage === 'done') vacant.add(turn)
      if (waiter?.stage === 'done') this.remove(waiter)
    }
    return vacant
  }
}
