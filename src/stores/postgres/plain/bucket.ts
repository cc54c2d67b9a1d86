import type { MakeStep } from './step.ts'

/** Restates algorithms/bucket.ts. */
export const bucketStep: MakeStep = (_span, [burst, weight, rate]) => ({
  state: ['last', 'level'],
  ends: true,
  advance: [`case when at - last > level / ${rate} then 0 else level - (at - last) * ${rate} end as level`],
  admits: `case when cost <= ${burst} then level + cost * ${weight} <= ${burst} * ${weight} end`,
  take: `level + cost * ${weight} as level`,
  reset: `(level + ${rate} - 1) / ${rate}`,
})
