/*
 * Entries in order of time. Most are added in that order: those stand in a row, where adding one and taking the first cost
 * the same however many there are. The others are in a binary heap, where taking the first costs the logarithm.
 */

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

/** How many places in front of a row are left empty before it is looked at whether it moves up. */
const fewest = 1024

export class Entries {
  #row: (Entry | undefined)[] = []
  /** How many of the row have been taken. */
  #taken = 0
  #heap: Entry[] = []

  get size(): number {
    return this.#row.length - this.#taken + this.#heap.length
  }

  get first(): Entry | undefined {
    const row = this.#row[this.#taken]
    const heap = this.#heap[0]
    return row === undefined || (heap !== undefined && before(heap, row)) ? heap : row
  }

  add(entry: Entry): void {
    const last = this.#row.at(-1)
    if (last === undefined || !before(entry, last)) {
      this.#row.push(entry)
    } else {
      this.#heap.push(entry)
      this.#rise(this.#heap.length - 1)
    }
  }

  /** Takes out the first. */
  shift(): void {
    if (this.first === this.#heap[0]) this.#pop()
    else {
      this.#row[this.#taken++] = undefined
      if (this.#taken === this.#row.length || (this.#taken > fewest && this.#taken * 2 > this.#row.length)) {
        this.#row = this.#row.slice(this.#taken)
        this.#taken = 0
      }
    }
  }

  /** Takes out all that are not to happen any more. */
  sweep(): void {
    this.#row = this.#row.filter((entry) => entry?.pending)
    this.#taken = 0
    this.#heap = this.#heap.filter((entry) => entry.pending)
    for (let n = (this.#heap.length >>> 1) - 1; n >= 0; n--) this.#sink(n)
  }

  #pop(): void {
    const last = this.#heap.pop()
    if (last === undefined || this.#heap.length === 0) return
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
