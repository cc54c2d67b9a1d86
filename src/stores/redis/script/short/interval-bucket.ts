import type { IntervalBucket } from '../../../../algorithms/buckets/index.ts'
import type { ShortSteps } from './step.ts'

/** Lua code that starts an interval if no unit is spent. */
const open = 'if spent == 0 then start = aligned and at - at % per or at end'

/** The Lua version of algorithms/buckets/interval-bucket.ts. */
export const intervalBucket: ShortSteps<IntervalBucket> = {
  numbers: ({ rate, per, capacity, aligned }) => ({ rate, per, capacity, aligned }),
  step: {
    state: ['last', 'spent', 'start'],
    prelude: `
local function shortWait(short, toStart, rate, per, fits)
  if short <= 0 then return 0 end
  return fits and toStart + ceil(short / rate) * per or never
end
`,
    reset: 'reset = spent == 0 and 0 or start - last + ceil(spent / rate) * per',
    advance: `
if at - start >= per then
  local intervals = floor((at - start) / per)
  start = start + intervals * per
  spent = spent - intervals * rate
  if spent < 0 then spent = 0 end
end
`,
    wait: 'shortWait(spent - (capacity - cost), start - at, rate, per, cost <= capacity)',
    take: `
${open}
spent = spent + cost
last = at
`,
    count: `
${open}
local filled = spent + cost
if filled > capacity then filled = capacity end
if filled > spent then spent = filled end
last = at
`,
    report: `
reset = spent == 0 and 0 or start - at + ceil(spent / rate) * per
remaining, used = capacity - spent, spent
if remaining < 0 then remaining = 0 end
`,
  },
}
