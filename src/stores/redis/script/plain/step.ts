import type { Algorithm } from '../../../../algorithms/index.ts'

/**
 * The step of an algorithm as straight-line code, for states without reservations: Lua with the names of the TypeScript, which
 * `stepOf` makes the code of one policy. `advance` brings the state to `at`, its effective time, which is not before `last`;
 * `take` takes `cost`. A refused call saves nothing.
 */
export interface PlainStep {
  /** The names of the state's numbers without the last one. The first is the time. */
  readonly state: readonly string[]
  /** The name of the last number, which a record leaves out if it is 0. Absent if it is always 0. Only the last policy has one. */
  readonly lastNumber?: string
  /** Absent if a record is its head and the state's numbers. */
  readonly log?: LogRecord
  /** Functions that no name or number of the policy is put into. Two policies may bring the same. */
  readonly prelude: string
  /** Sets `reset`: how long after the time of the state the key has its full quota. */
  readonly reset: string
  readonly advance: string
  /** An expression: how long a call of `cost` has to wait; 0 is now. */
  readonly wait: string
  readonly take: string
  /** An expression: true if a refused call changes the state. Absent if each of them does. */
  readonly counts?: string
  /** Counts a refused call of `cost`, which has to wait for `delay`. */
  readonly count: string
  /** Sets `remaining`, `reset` and `used`. */
  readonly report: string
}

/** A record of a size, numbers, and as many entries as it has. It is the first one of a value. */
export interface LogRecord {
  /** The names of what is read, besides the state. `head` and `size` are read for it. */
  readonly names: readonly string[]
  /** The names of the numbers before the entries. */
  readonly numbers: readonly string[]
  /** An expression: true if a record of `size` bytes has its usual form. */
  readonly isUsual: string
  /** Reads what else the state has from the entries. */
  readonly entries: string
  /** An expression: true if the step can go on from that state. */
  readonly isPlain: string
  /** Sets the state of a new key. */
  readonly fresh: string
  /** Sets `kept` and `added`: the entries that are written. */
  readonly pack: string
}

/** A step, and how the numbers of an algorithm are put in. */
export interface PlainSteps<T extends Algorithm> {
  readonly step: PlainStep
  /** By the names that they have in the code. @param head how many bytes a record begins with */
  numbers(algorithm: T, head: number): Readonly<Record<string, number | boolean | string>>
}

/**
 * The step of policy `n`. The names of the state, and those of what is read, end with its number: `last1`, `at1`. The names of
 * the algorithm's numbers give way to the numbers.
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
