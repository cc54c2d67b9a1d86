import type { IntervalBucket } from '../../../../algorithms/interval-bucket.ts'
import type { MakeStep } from './step.ts'

/** Restates algorithms/interval-bucket.ts. */
export const intervalBucketStep: MakeStep<IntervalBucket> = (n, { rate, per, capacity, aligned }) => ({
  state: [`last${n}`, `spent${n}`, `start${n}`],
  prelude: `
local function shortWait(short, toStart, rate, per, fits)
  if short <= 0 then return 0 end
  return fits and toStart + ceil(short / rate) * per or never
end
`,
  reset: `reset = spent${n} == 0 and 0 or start${n} - last${n} + ceil(spent${n} / ${rate}) * ${per}`,
  advance: `
if at${n} - start${n} >= ${per} then
  local intervals = floor((at${n} - start${n}) / ${per})
  start${n} = start${n} + intervals * ${per}
  spent${n} = spent${n} - intervals * ${rate}
  if spent${n} < 0 then spent${n} = 0 end
end
`,
  wait: (cost) =>
    `shortWait(spent${n} - (${capacity} - ${cost}), start${n} - at${n}, ${rate}, ${per}, ${cost} <= ${capacity})`,
  take: `
if spent${n} == 0 then start${n} = ${opens(n, per, aligned)} end
spent${n} = spent${n} + cost
last${n} = at${n}
`,
  count: `
if spent${n} == 0 then start${n} = ${opens(n, per, aligned)} end
local filled${n} = spent${n} + cost
if filled${n} > ${capacity} then filled${n} = ${capacity} end
if filled${n} > spent${n} then spent${n} = filled${n} end
last${n} = at${n}
`,
  report: `
reset = spent${n} == 0 and 0 or start${n} - at${n} + ceil(spent${n} / ${rate}) * ${per}
remaining, used = ${capacity} - spent${n}, spent${n}
if remaining < 0 then remaining = 0 end
`,
})

/** The start of an interval that opens now. */
function opens(n: number, per: number, aligned: boolean): string {
  return aligned ? `at${n} - at${n} % ${per}` : `at${n}`
}
