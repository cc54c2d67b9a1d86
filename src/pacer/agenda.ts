/*
 * All that is to happen later, in order of time, with one timer for the first of it.
 *
 * A binary heap: what is booked later is mostly due later, so adding is a comparison with one parent; taking out is the
 * logarithm. What is called off stays in the heap as a dead entry until it surfaces, or until the dead outnumber the
 * living.
 */
import type { Clock } from '../clock.ts'
import { longestSleep, type Sleeper } from './sleeper.ts'

/** Something to happen at a time. */
export abstract class Entry {
  /** Microseconds, by the pacer's clock. */
  at = 0
  order = 0
  pending = false
  abstract due(): void

  /** Among entries of one time, those of a higher rank come later, those of one rank in the order they were added. */
  get rank(): number {
    return 0
  }
}

export class Agenda {
  readonly #clock: Clock
  readonly #sleeper: Sleeper
  #heap: Entry[] = []
  #dead = 0
  #added = 0
  #wakesAt = Infinity
  #callOff: (() => void) | undefined
  #running = false

  constructor(clock: Clock, sleeper: Sleeper) {
    this.#clock = clock
    this.#sleeper = sleeper
  }

  /** How many entries are to come. */
  get size(): number {
    return this.#heap.length - this.#dead
  }

  add(entry: Entry, at: number): void {
    entry.at = at
    entry.order = this.#added++
    entry.pending = true
    this.#heap.push(entry)
    this.#rise(this.#heap.length - 1)
    if (at < this.#wakesAt && !this.#running) this.#arm()
  }

  remove(entry: Entry): void {
    if (!entry.pending) return
    entry.pending = false
    this.#dead++
    if (this.#dead * 2 > this.#heap.length) this.#sweep()
    if (this.#heap.length === 0) this.#disarm()
  }

  /** Lets everything happen that is due. */
  run(): void {
    if (this.#running) return
    this.#running = true
    try {
      for (let entry = this.#heap[0]; entry !== undefined; entry = this.#heap[0]) {
        if (entry.pending && entry.at > this.#clock()) break
        this.#pop()
        if (!entry.pending) this.#dead--
        else {
          entry.pending = false
          entry.due()
        }
      }
    } finally {
      this.#running = false
      this.#arm()
    }
  }

  #arm(): void {
    const first = this.#heap[0]
    if (first?.at === this.#wakesAt) return
    this.#disarm()
    if (first === undefined) return
    this.#wakesAt = first.at
    const milliseconds = Math.max(0, Math.ceil((first.at - this.#clock()) / 1000))
    this.#callOff = this.#sleeper(Math.min(milliseconds, longestSleep), () => {
      this.#wakesAt = Infinity
      this.#callOff = undefined
      this.run()
    })
  }

  #disarm(): void {
    this.#callOff?.()
    this.#callOff = undefined
    this.#wakesAt = Infinity
  }

  #sweep(): void {
    this.#heap = this.#heap.filter((entry) => entry.pending)
    this.#dead = 0
    for (let n = (this.#heap.length >>> 1) - 1; n >= 0; n--) this.#sink(n)
  }

  #pop(): void {
    const last = this.#heap.pop() as Entry
    if (this.#heap.length === 0) return
    this.#heap[0] = last
    this.#sink(0)
  }

  #rise(n: number): void {
    const heap = this.#heap
    const entry = heap[n] as Entry
    while (n > 0) {
      const parent = (n - 1) >>> 1
      if (!before(entry, heap[parent] as Entry)) break
      heap[n] = heap[parent] as Entry
      n = parent
    }
    heap[n] = entry
  }

  #sink(n: number): void {
    const heap = this.#heap
    const entry = heap[n] as Entry
    for (;;) {
      let child = 2 * n + 1
      if (child >= heap.length) break
      if (child + 1 < heap.length && before(heap[child + 1] as Entry, heap[child] as Entry)) child++
      if (!before(heap[child] as Entry, entry)) break
      heap[n] = heap[child] as Entry
      n = child
    }
    heap[n] = entry
  }
}

function before(a: Entry, b: Entry): boolean {
  if (a.at !== b.at) return a.at < b.at
  return a.rank !== b.rank ? a.rank < b.rank : a.order < b.order
}
