import type { Algorithm, Kind } from '../../algorithms/index.ts'

/**
 * The SQL by which an algorithm decides a call of `cost` units, for a state without reservations. All numbers are bigint. Each text is one
 * expression or a list of columns. A text can use the columns `at` (the time at which the state is evaluated) and `cost`, the numbers of
 * the state, and the columns that earlier lists define. A division of integers rounds down, because all integers are positive.
 */
export interface SqlStep {
  /** The names of the state's numbers. The first is `last`, the time at which the state was last written. */
  readonly state: readonly string[]
  /**
   * True if the last number of the state is the id of its last reservation. The SQL decides only if the id is 0, because the state then has
   * no reservation.
   */
  readonly ends: boolean
  /**
   * Lists of columns, computed in this order. They bring the state to the time `at`. The last list has all numbers of the state except
   * `last`.
   */
  readonly advance: readonly string[]
  /** An expression that is true if the call is admitted without a wait. */
  readonly admits: string
  /** The numbers of the state, except `last`, after the cost of the call was added. */
  readonly take: string
  /** An expression for the microseconds from `at` until the key has its full quota, after the cost of the call was added. */
  readonly reset: string
}

/**
 * Makes the step of an algorithm. The arguments are the placeholders of the algorithm's `span` and `parameters` in the SQL
 * statement, such as `$3`.
 */
export type MakeStep = (span: string, parameters: readonly string[]) => SqlStep

/** The step of algorithms/buckets/bucket.ts, as SQL. */
const bucketStep: MakeStep = (_span, [burst, weight, rate]) => ({
  state: ['last', 'level'],
  ends: true,
  advance: [`case when at - last > level / ${rate} then 0 else level - (at - last) * ${rate} end as level`],
  admits: `case when cost <= ${burst} then level + cost * ${weight} <= ${burst} * ${weight} end`,
  take: `level + cost * ${weight} as level`,
  reset: `(level + ${rate} - 1) / ${rate}`,
})

/** The step of algorithms/buckets/interval-bucket.ts, as SQL. */
const intervalBucketStep: MakeStep = (_span, [rate, per, capacity, aligned]) => ({
  state: ['last', 'spent', 'start'],
  ends: true,
  advance: [
    `spent as spent_before, start as start_before, case when at - start < ${per} then 0 else (at - start) / ${per} end as intervals`,
    `case when intervals > spent_before / ${rate} then 0 else spent_before - intervals * ${rate} end as spent, ` +
      `start_before + intervals * ${per} as start`,
  ],
  admits: `spent + cost <= ${capacity}`,
  take:
    `spent + cost as spent, ` +
    `case when spent > 0 then start when ${aligned} = 1 then at - at % ${per} else at end as start`,
  reset: `start - at + (spent + ${rate} - 1) / ${rate} * ${per}`,
})

/**
 * The step of algorithms/windows/sliding-window.ts. The product of units and microseconds is computed as numeric, because it can
 * exceed 2^63.
 */
const slidingWindowStep: MakeStep = (span, [limit]) => ({
  state: ['last', 'start', 'current', 'previous', 'id'],
  ends: false,
  advance: [
    `start as start_before, current as current_before, previous as previous_before, id, ` +
      `case when at - start >= 0 and at - start < ${span} then start else at - at % ${span} end as start`,
    `start, id, case when start <= start_before then current_before else 0 end as current, ` +
      `case when start <= start_before then previous_before when start - start_before = ${span} then current_before else 0 end as previous`,
  ],
  admits:
    `${limit} - cost - current >= ` +
    `case when previous = 0 then 0 else previous - div(previous::numeric * (at - start), ${span})::bigint end`,
  take: `start, current + cost as current, previous, id`,
  reset: `start + ${span} - at + ${span}`,
})

/** For each kind of algorithm: the function that makes its step, and the number of its parameters. */
export const makers: Readonly<Partial<Record<Kind, readonly [make: MakeStep, parameters: number]>>> = {
  bucket: [bucketStep, 3],
  intervalBucket: [intervalBucketStep, 4],
  slidingWindow: [slidingWindowStep, 1],
}

export function hasPlainStep({ kind }: Algorithm): boolean {
  return Object.hasOwn(makers, kind)
}
