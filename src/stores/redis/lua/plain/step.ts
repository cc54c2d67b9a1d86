import type { Algorithm } from '../../../../algorithms/algorithm.ts'

/**
 * The step of an algorithm as straight-line code, for states without reservations. The names in the code end with the number
 * of the policy: `last1` is the time of the state of the first one, `at1` its effective time, which is not before `last1`.
 * `advance` brings the state to that time; `take` takes `cost`. A refused call saves nothing.
 */
export interface PlainStep {
  /** The names of the state's numbers without the last one. The first is the time. */
  readonly state: readonly string[]
  /** The name of the last number, which a record leaves out if it is 0. Absent if it is always 0. Only the last policy has one. */
  readonly lastNumber?: string
  /** Absent if a record is its head and the state's numbers. */
  readonly log?: LogRecord
  /** Code before the first call, such as functions. Two policies may bring the same. */
  readonly prelude: string
  /** Sets `reset`: how long after the time of the state the key has its full quota. */
  readonly reset: string
  readonly advance: string
  /** An expression: how long a call of `cost` has to wait; 0 is now. */
  wait(cost: string): string
  readonly take: string
  /** An expression: true if a refused call changes the state. Absent if each of them does. */
  readonly counts?: string
  /** Counts a refused call of `cost`, which has to wait for `delay`. */
  readonly count: string
  /** Sets `remaining`, `reset` and `used`. */
  readonly report: string
}

/** A record that is as long as its entries. It is the first one of a value. */
export interface LogRecord {
  /** The names of all that is read. */
  readonly names: readonly string[]
  /** The bytes without entries. */
  readonly least: number
  /** Reads the numbers before the entries. */
  readonly numbers: string
  /** An expression on these numbers: true if the record has its usual form. */
  readonly isUsual: string
  /** An expression: how many bytes the record has. */
  readonly size: string
  /** Reads the newest entry, and sets the state. */
  readonly newest: string
  /** An expression: true if the step can go on from that state. */
  readonly isPlain: string
  /** Sets the state of a new key. */
  readonly fresh: string
  /** Prepares what is packed. */
  readonly pack: string
  /** How the record is packed, with an entry at its end. */
  readonly format: string
  readonly values: readonly string[]
  /** Removes that entry from `text`, if there is none. */
  readonly withoutEntry: string
}

/** @param n the number of the policy @param head how many bytes its record begins with */
export type MakeStep<T extends Algorithm> = (n: number, algorithm: T, head: number) => PlainStep
