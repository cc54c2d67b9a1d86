import { type Clock, longestSleep, type Sleeper } from '../../common/index.ts'
import { Task, TaskQueue } from './timer-heap.ts'

/**
 * Runs tasks at their times, with one timer for all tasks. A removed task stays in the heap until it comes first, or
 * until more than half of the heap are removed tasks. So removing a task takes constant time on average.
 */
export class Scheduler {
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  readonly #tasks = new TaskQueue()
  /** How many removed tasks are still in the heap. */
  #removed = 0
  #added = 0
  #wakesAt = Infinity
  #cancelSleep: (() => void) | undefined
  #running = false

  constructor(clock: Clock, sleeper: Sleeper) {
    this.#clock = clock
    this.#sleeper = sleeper
  }

  /** @param at the time of the task, in microseconds */
  add(task: Task, at: number): void {
    task.at = at
    task.order = this.#added++
    task.pending = true
    this.#tasks.add(task)
    if (at < this.#wakesAt && !this.#running) this.#sleep()
  }

  /**
   * Calls `run` at the time `at`, in microseconds. To move a task to another time, remove the task and call `at` again: a
   * removed task may still be in the heap at its old time, and cannot be added again.
   * @param rank of the tasks at the same time, the task with the lowest rank runs first
   */
  at(at: number, run: () => void, rank = 0): Task {
    const task = new Timer(run, rank)
    this.add(task, at)
    return task
  }

  remove(task: Task | undefined): void {
    if (!task?.pending) return
    task.pending = false
    this.#removed++
    if (this.#removed * 2 > this.#tasks.size) {
      this.#tasks.sweep()
      this.#removed = 0
    }
    if (this.#tasks.size === 0) this.#wake()
  }

  /** Runs all tasks that are due. Time passes while tasks run, so the clock is read again before the loop stops. */
  run(): void {
    if (this.#running) return
    this.#running = true
    let now = 0
    try {
      for (let task = this.#tasks.first; task !== undefined; task = this.#tasks.first) {
        if (task.pending && task.at > now) {
          now = this.#clock()
          if (task.at > now) break
        }
        this.#tasks.shift()
        if (!task.pending) this.#removed--
        else {
          task.pending = false
          task.run()
        }
      }
    } finally {
      this.#running = false
      this.#sleep()
    }
  }

  #sleep(): void {
    const { first } = this.#tasks
    if (first?.at === this.#wakesAt) return
    this.#wake()
    if (first === undefined) return
    this.#wakesAt = first.at
    const milliseconds = Math.max(0, Math.ceil((first.at - this.#clock()) / 1000))
    this.#cancelSleep = this.#sleeper(Math.min(milliseconds, longestSleep), () => {
      this.#wakesAt = Infinity
      this.#cancelSleep = undefined
      this.run()
    })
  }

  #wake(): void {
    this.#cancelSleep?.()
    this.#cancelSleep = undefined
    this.#wakesAt = Infinity
  }
}

class Timer extends Task {
  readonly run: () => void
  readonly #rank: number

  constructor(run: () => void, rank: number) {
    super()
    this.run = run
    this.#rank = rank
  }

  override get rank(): number {
    return this.#rank
  }
}
