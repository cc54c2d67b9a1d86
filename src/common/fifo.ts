/** How many elements at the front of the array may be empty before the array is copied, so that a short array is not copied often. */
const spare = 1024

/**
 * A queue in an array: first in, first out. Removed items leave empty elements at the front. When half of the array is empty, the
 * array is copied without the empty elements, so a call takes constant time on average. An item takes 8 bytes.
 */
export class Fifo<T> {
  #items: (T | undefined)[] = []
  /** How many elements at the front of the array are empty. */
  #taken = 0

  get length(): number {
    return this.#items.length - this.#taken
  }

  get first(): T | undefined {
    return this.#items[this.#taken]
  }

  get last(): T | undefined {
    return this.#items.at(-1)
  }

  push(item: T): void {
    this.#items.push(item)
  }

  /** Removes the first item of the queue. */
  shift(): void {
    this.#items[this.#taken++] = undefined
    const { length } = this.#items
    if (this.#taken >= length || (this.#taken > spare && this.#taken * 2 > length)) {
      this.#items = this.#items.slice(this.#taken)
      this.#taken = 0
    }
  }

  /** Removes all items for which `keep` returns false. */
  filter(keep: (item: T) => boolean): void {
    this.#items = this.#items.filter((item) => item !== undefined && keep(item))
    this.#taken = 0
  }
}
