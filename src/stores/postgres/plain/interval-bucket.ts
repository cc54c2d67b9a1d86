import type { MakeStep } from './step.ts'

/** Restates algorithms/interval-bucket.ts. */
export const intervalBucketStep: MakeStep = (_span, [rate, per, capacity, aligned]) => ({
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
