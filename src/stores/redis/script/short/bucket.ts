import type { Bucket } from '../../../../algorithms/buckets/index.ts'
import type { ShortSteps } from './step.ts'

/** The Lua version of algorithms/buckets/bucket.ts. */
export const bucket: ShortSteps<Bucket> = {
  numbers: ({ burst, weight, rate, capacity }) => ({ burst, weight, rate, capacity }),
  step: {
    state: ['last', 'level'],
    prelude: `
local function excessWait(excess, rate, fits)
  if excess <= 0 then return 0 end
  return fits and ceil(excess / rate) or never
end
`,
    reset: 'reset = ceil(level / rate)',
    advance: `
if at > last then
  level = level - (at - last) * rate
  if level < 0 then level = 0 end
end
`,
    wait: 'excessWait(level - (capacity - cost * weight), rate, cost <= burst)',
    take: `
level = level + cost * weight
last = at
`,
    count: `
local filled = level + cost * weight
if filled > capacity then filled = capacity end
if filled > level then level = filled end
last = at
`,
    report: `
reset = ceil(level / rate)
remaining = floor((capacity - level) / weight)
used = burst - remaining
if level > capacity then remaining, used = 0, ceil(level / weight) end
`,
  },
}
