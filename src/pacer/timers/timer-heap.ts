import TinyQueue from 'tinyqueue'
import { Fifo } from '../../common/index.ts'

/** Work that is to run at a certain time. */
export abstract class Task {
  /** When the task runs, in microseconds by the pacer's clock. */
  at = 0
  /** How many tasks were added before this task. */
  order = 0
  /** True from when the task is added until the task runs or is removed. */
  pending = false

  abstract run(): void

  /** Of tasks at the same time, the lowest rank runs first. Tasks of equal rank run in the order they were added. */
  get rank(): number {
    return 0
  }
}

/**
 * Tasks in the order of their times. Most tasks are added in the order of their times. Such tasks go to a list, where adding and removing
 * takes constant time: a heap takes 0.6 us more for each of 100,000 slots. All other tasks go to a heap.
 */
export class TaskQueue {
  readonly #inOrder = new Fifo<Task>()
  #others = new TinyQueue<Task>([], compare)

  get size(): number {
    return this.#inOrder.length + this.#others.length
  }

  get first(): Task | undefined {
    const first = this.#inOrder.first
    const other = this.#others.peek()
    return first === undefined || (other !== undefined && compare(other, first) < 0) ? other : first
  }

  add(task: Task): void {
    const { last } = this.#inOrder
    if (last === undefined || compare(task, last) > 0) this.#inOrder.push(task)
    else this.#others.push(task)
  }

  shift(): void {
    if (this.first === this.#inOrder.first) this.#inOrder.shift()
    else this.#others.pop()
  }

  sweep(): void {
    this.#inOrder.filter(isPending)
    this.#others = new TinyQueue(this.#others.data.filter(isPending), compare)
  }
}

function isPending({ pending }: Task): boolean {
  return pending
}

function compare(a: Task, b: Task): number {
  return a.at - b.at || a.rank - b.rank || a.order - b.order
}
