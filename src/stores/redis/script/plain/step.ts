import type { Algorithm } from '../../../../algorithms/index.ts'

/**
 * The step of an algorithm as straight-line Lua, for states without reservations, with the names of the TypeScript. `stepOf`
 * makes the code for one policy from it. `advance` brings the state to `at`, its effective time, which is not before `last`;
 * `take` takes `cost`. A refused call leaves the state unchanged.
 */
export interface PlainStep {
  /** The names of the state's numbers without the last one. The first is the time. */
  readonly state: readonly string[]
  /** The name of the last number, which a record leaves out if it is 0. Absent if it is always 0. Only the last policy has one. */
  readonly lastNumber?: string
  /** How the record of a log is read and written. Absent if a record has only its head and the state's numbers. */
  readonly log?: LogRecord
  /** Lua functions without any name or number of the policy. Several policies may have the same prelude. */
  readonly prelude: string
  /** Sets `reset`: how long after the time of the state the key has its full quota. */
  readonly reset: string
  readonly advance: string
  /** An expression: how long a call of `cost` has to wait; 0 is now. */
  readonly wait: string
  readonly take: string
  /** An expression: true if a refused call changes the state. Absent if every refused call changes it. */
  readonly counts?: string
  /** Counts a refused call of `cost`, which has to wait for `delay`. */
  readonly count: string
  /** Sets `remaining`, `reset` and `used`. */
  readonly report: string
}

/** The Lua code for the record of a log. In the value, that record comes first: its size, then the numbers of the state, then the entries. It is the first record of a value. */
export interface LogRecord {
  /** The names of the variables besides the state. The code around sets `head` and `size`. */
  readonly names: readonly string[]
  /** The names of the numbers before the entries. */
  readonly numbers: readonly string[]
  /** An expression: true if a record of `size` bytes has its usual form. */
  readonly isUsual: string
  /** Reads the rest of the state from the entries. */
  readonly entries: string
  /** An expression: true if the step can go on from that state. */
  readonly isPlain: string
  /** Sets the state of a new key. */
  readonly fresh: string
  /** Sets `kept` and `added`: the entries that are written. */
  readonly pack: string
}

/** A step, and the numbers that are put into its code. */
export interface PlainSteps<T extends Algorithm> {
  readonly step: PlainStep
  /** The numbers, by their names in the code. @param head how many bytes stand before the state in a record */
  numbers(algorithm: T, head: number): Readonly<Record<string, number | boolean | string>>
}

/**
 * The step of policy `n`. The names of the state, and of other variables, end with the number of the policy: `last1`, `at1`. The
 * names of the algorithm's numbers are replaced by the numbers.
 */
export function stepOf<T extends Algorithm>(
  { step, numbers }: PlainSteps<T>,
  n: number,
  algorithm: T,
  head: number,
): PlainStep {
  const own = new Set([...step.state, step.lastNumber, ...(step.log?.names ?? []), 'at'])
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

/** An expression: how long a call of that cost has to wait. */
export function waitFor({ wait }: PlainStep, cost: string): string {
  return wait.replace(/\bcost\b/g, cost)
}
