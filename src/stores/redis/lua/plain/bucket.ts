import type { Bucket } from '../../../../algorithms/bucket.ts'
import type { MakeStep } from './step.ts'

/** Restates algorithms/bucket.ts. */
export const bucketStep: MakeStep<Bucket> = (n, { burst, weight, rate, capacity }) => ({
  state: [`last${n}`, `level${n}`],
  prelude: `
local function excessWait(excess, rate, fits)
  if excess <= 0 then return 0 end
  return fits and ceil(excess / rate) or never
end
`,
  reset: `reset = ceil(level${n} / ${rate})`,
  advance: `
if at${n} > last${n} then
  level${n} = level${n} - (at${n} - last${n}) * ${rate}
  if level${n} < 0 then level${n} = 0 end
end
`,
  wait: (cost) => `excessWait(level${n} - (${capacity} - ${cost} * ${weight}), ${rate}, ${cost} <= ${burst})`,
  take: `
level${n} = level${n} + cost * ${weight}
last${n} = at${n}
`,
  count: `
local filled${n} = level${n} + cost * ${weight}
if filled${n} > ${capacity} then filled${n} = ${capacity} end
if filled${n} > level${n} then level${n} = filled${n} end
last${n} = at${n}
`,
  report: `
reset = ceil(level${n} / ${rate})
remaining = floor((${capacity} - level${n}) / ${weight})
used = ${burst} - remaining
if level${n} > ${capacity} then remaining, used = 0, ceil(level${n} / ${weight}) end
`,
})
