import type { Algorithm } from '../../../../algorithms/algorithm.ts'

/**
 * The step of an algorithm as straight-line code, for states without reservations. The names in the code end with the number
 * of the policy: `last1` is the time of the state of the first one, `at1` its effective time, which is not before `last1`.
 * `advance` brings the state to that time; `take` takes `cost`. A refused call saves nothing.
 */
export interface PlainStep {
  /** The names of the state's numbers without the last one, which is 0. The first is the time. */
  readonly state: readonly string[]
  /** Code before the first call, such as functions. Two policies may bring the same. */
  readonly prelude: string
  /** Sets `reset`: how long after the time of the state the key has its full quota. */
  readonly reset: string
  readonly advance: string
  /** An expression: how long a call of `cost` has to wait; 0 is now. */
  wait(cost: string): string
  readonly take: string
  /** Counts a refused call of `cost`. */
  readonly count: string
  /** Sets `remaining`, `reset` and `used`. */
  readonly report: string
}

/** @param n the number of the policy */
export type MakeStep<T extends Algorithm> = (n: number, algorithm: T) => PlainStep
