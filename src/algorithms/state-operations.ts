/** Where states live: many keys in one array, or an array of a key's own that can grow. */
export type Numbers = Float64Array | number[]

/**
 * The rare operations of an algorithm on states: it carries them over when a policy's numbers change, and merges or
 * shortens them when a store is full. The main path never needs these.
 *
 * As in `Algorithm`, `s` at `i` holds the state, and `at` is its effective time in microseconds.
 */
export interface StateOperations {
  /**
   * Rewrites a state that `from` left, which is this algorithm at another rate. Times that were promised to reservations
   * stay. Returns false, and changes nothing, for any other `from`. Absent if such a state means the same here.
   */
  adopt?(s: Numbers, i: number, at: number, from: StateOperations): boolean
  /**
   * Rewrites a state that `from` left, which is this algorithm with other numbers. Used units count `times / per` as
   * much, rounded up and limited to the capacity here. Returns false, and changes nothing, if the windows differ.
   */
  carry(s: Numbers, i: number, at: number, from: StateOperations, times: number, per: number): boolean
  /**
   * Makes the state at `s[i]` at least as strict as itself and as the state at `t[j]`, from the last booking on, and never
   * more permissive in sum. A full store merges keys this way. `at` is the later of the two effective times.
   */
  merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void
  /** Ends a block, and counts refusals anew. Past blocks stay known. Only where refusals are punished. */
  unblock?(s: Numbers, i: number, at: number): void
  /** Makes a merged state the state of one key from this call on. An interval that opens with a call opens with this one. */
  reopen?(s: Numbers, i: number, at: number): void
  /** How many numbers `condense` writes at most. Only for an algorithm whose states grow. */
  readonly condensed?: number
  /** Writes a state of at most `condensed` numbers to `t[j ...]`, which is all zeros. It is as strict as `merge` makes it. */
  condense?(s: Numbers, i: number, at: number, t: Numbers, j: number): void
}
