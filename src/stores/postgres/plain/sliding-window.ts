import type { MakeStep } from './step.ts'

/** Restates algorithms/sliding-window.ts. The product of `mulDiv` is a numeric, because it passes 2^63. */
export const slidingWindowStep: MakeStep = (span, [limit]) => ({
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
