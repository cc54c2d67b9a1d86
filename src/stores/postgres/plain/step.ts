/**
 * The step of an algorithm as SQL over bigint, for a call of `cost` on a state without reservations. Each text is a list of
 * columns, or one expression. It sees the columns `at` (the effective time), `cost`, the numbers of the state, and what the
 * lists before it have made. A division of integers rounds down, as all are positive.
 */
export interface PlainStep {
  /** The names of the state's numbers. The first is `last`. */
  readonly state: readonly string[]
  /** True if the state has one number more, the id of its reservations, which has to be 0. */
  readonly ends: boolean
  /** Lists of columns that bring the state to `at`, one on top of the other. The last one has every number of the state but `last`. */
  readonly advance: readonly string[]
  /** True if the call does not have to wait. */
  readonly admits: string
  /** The state's numbers with the cost taken, without `last`. */
  readonly take: string
  /** On the state with the cost taken: how long after `at` the key has its full quota. */
  readonly reset: string
}

/** The argument for each number that defines the algorithm, by which a step is made. */
export type MakeStep = (span: string, parameters: readonly string[]) => PlainStep
