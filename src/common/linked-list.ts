/** The links of a node to its neighbours. A node is in one list at a time. */
export interface ListNode<T> {
  before: T | undefined
  after: T | undefined
}

/**
 * A list whose nodes hold the links, so that it needs no memory beyond two fields of each node. Adding and removing a node
 * take the same time at any length.
 *
 * It replaces a `Set`, which is slower to garbage-collect. A Set that grows or empties makes a new table, and the old
 * table points to it. So one table in the old generation would keep every later node alive.
 */
export class LinkedList<T extends ListNode<T>> {
  first: T | undefined = undefined
  last: T | undefined = undefined

  /** Puts a node at the end. */
  add(node: T): void {
    this.insertAfter(node, this.last)
  }

  /** Puts a node behind another one, or at the front if `before` is undefined. */
  insertAfter(node: T, before: T | undefined): void {
    const after = before === undefined ? this.first : before.after
    node.before = before
    node.after = after
    if (before === undefined) this.first = node
    else before.after = node
    if (after === undefined) this.last = node
    else after.before = node
  }

  /** Goes through all nodes. The current node may be removed meanwhile. */
  *[Symbol.iterator](): Generator<T, undefined> {
    for (let node = this.first; node !== undefined; ) {
      const { after } = node
      yield node
      node = after
    }
  }

  /** Removes a node and clears its links. Returns false if the node is in no list. */
  remove(node: T): boolean {
    const { before, after } = node
    if (before === undefined && this.first !== node) return false
    if (before === undefined) this.first = after
    else before.after = after
    if (after === undefined) this.last = before
    else after.before = before
    node.before = undefined
    node.after = undefined
    return true
  }
}
