import type { Algorithm } from '../../../../algorithms/index.ts'

/**
 * An algorithm as Lua code without functions, for states without reservations. The variables have the names of the TypeScript code.
 * From these texts, `stepOf` makes the code for one policy. The code `advance` moves the state from its time `last` to the time `at`, which
 * is never before `last`. The code `take` adds `cost` to the used units of an admitted call.
 */
export interface ShortStep {
  /** The names of the numbers in the state, except `lastNumber`. The first number is the time at which the state was last changed. */
  readonly state: readonly string[]
  /**
   * The name of the last number of the state, which is not stored if it is 0. Absent if this number is always 0. If a plan (set of
   * policies) has several policies, only the last policy may have such a number.
   */
  readonly lastNumber?: string
  /** For a policy with a calendar: the names of the four starts of windows that each key of a message brings. */
  readonly windows?: readonly string[]
  /** Code that reads and writes the record of a log. Absent if a record has only a head and the numbers of the state. */
  readonly log?: LogRecord
  /** Lua functions that do not depend on the policy, so that several policies can use them. */
  readonly prelude: string
  /** Lua code that sets `reset`: the microseconds from the time of the state (`last`) until the key has its full quota. */
  readonly reset: string
  readonly advance: string
  /** A Lua expression for how long a call of `cost` has to wait, in microseconds; 0 if the call is admitted now. */
  readonly wait: string
  readonly take: string
  /**
   * For policies that count refused calls, a Lua expression that is true if the call that is refused now changes the state. Absent if every
   * refused call changes the state.
   */
  readonly counts?: string
  /** Lua code that counts a refused call of `cost`, which has to wait for `delay`. */
  readonly count: string
  /** Lua code that sets the numbers of the decision: `remaining`, `reset` and `used`. */
  readonly report: string
}

/**
 * Lua code for the record (stored state) of a log: its size, the numbers of the state, the entries. A value has the records of several
 * policies, and the record of a log must be the first.
 */
export interface LogRecord {
  /**
   * The names of the variables that the code needs besides the state. `head` and `size` (of the stored log) are set before this code runs.
   */
  readonly names: readonly string[]
  /** The names of the numbers that a stored log contains before its entries. */
  readonly numbers: readonly string[]
  /** A Lua expression that is true if a stored log of `size` bytes has the form that this code reads. */
  readonly isUsual: string
  /** Lua code that sets the other variables of the state from the entries. */
  readonly entries: string
  /** A Lua expression that is true if this code can decide with the state that was read; otherwise the whole script has to decide. */
  readonly isPlain: string
  /** Lua code that sets the state of a new key. */
  readonly fresh: string
  /** Lua code that sets `kept` and `added`, the bytes of the log's entries: the old entries that stay in the log, and the new entry. */
  readonly pack: string
}

/** The Lua code of an algorithm, and the numbers of a policy that `stepOf` inserts into the code. */
export interface ShortSteps<T extends Algorithm> {
  readonly step: ShortStep
  /** The numbers, by their names in the code. @param head how many bytes are stored before the numbers of the state */
  numbers(algorithm: T, head: number): Readonly<Record<string, number | boolean | string>>
}

/**
 * The code for policy `n`. The names of variables get the number of the policy at the end: `last1`, `at1`. The names of the
 * algorithm's numbers are replaced by the numbers.
 */
export function stepOf<T extends Algorithm>(
  { step, numbers }: ShortSteps<T>,
  n: number,
  algorithm: T,
  head: number,
): ShortStep {
  const own = new Set([...step.state, step.lastNumber, ...(step.log?.names ?? []), ...(step.windows ?? []), 'at'])
  const known = numbers(algorithm, head)
  const put = (code: string): string =>
    code.replace(/\b[a-z]\w*/gi, (name) => (own.has(name) ? `${name}${n}` : `${known[name] ?? name}`))
  return { ...mapTexts(step, put), prelude: step.prelude }
}

function mapTexts<T>(value: T, put: (code: string) => string): T {
  if (typeof value === 'string') return put(value) as T
  if (Array.isArray(value)) return value.map((each) => mapTexts(each, put)) as T
  return Object.fromEntries(Object.entries(value as object).map(([name, each]) => [name, mapTexts(each, put)])) as T
}

/** A Lua expression for how long a call of that cost has to wait, in microseconds. */
export function waitFor({ wait }: ShortStep, cost: string): string {
  return wait.replace(/\bcost\b/g, cost)
}
