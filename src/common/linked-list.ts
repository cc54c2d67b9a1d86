/** The two links of a list's node, to the node before and the node after. A node can be in only one list. */
export interface ListNode<T> {
  before: T | undefined
  after: T | undefined
}

/**
 * A doubly linked list. The links are fields of the nodes, so the list needs no other memory. Adding or removing a node takes
 * constant time.
 *
 * A `Set` would be slower to garbage-collect. A Set that grows or shrinks makes a new table, and the old table has a pointer to
 * the new table. So a table in the old generation would keep all later nodes alive.
 */
export class LinkedList<T extends ListNode<T>> {
  first: T | undefined = undefined
  last: T | undefined = undefined

  /** Adds a node at the end of the list. */
  add(node: T): void {
    this.insertAfter(node, this.last)
  }

  /** Adds a node after `before`, or at the front if `before` is undefined. */
  insertAfter(node: T, before: T | undefined): void {
    const after = before === undefined ? this.first : before.after
    node.before = before
    node.after = after
    if (before === undefined) this.first = node
    else before.after = node
    if (after === undefined) this.last = node
    else after.before = node
  }

  /** Iterates over all nodes. The caller may remove the current node during the iteration. */
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
