import type { SlidingWindow } from '../../../../algorithms/sliding-window.ts'
import { mulDiv } from '../exact-math.ts'
import type { MakeStep } from './step.ts'

/** Restates algorithms/sliding-window.ts. */
export const slidingWindowStep: MakeStep<SlidingWindow> = (n, { span, limit }) => ({
  state: [`last${n}`, `start${n}`, `current${n}`, `previous${n}`],
  prelude: `${mulDiv}
local function fadeTime(span, count, units)
  return span - mulDiv(span, count - units, count)
end

local function fadingWait(span, start, current, previous, spare, at)
  if spare >= previous or spare >= previous - mulDiv(previous, at - start, span) then return 0 end
  if spare >= 0 then return start + fadeTime(span, previous, previous - spare) - at end
  if spare < -current then return never end
  return start + span + fadeTime(span, current, -spare) - at
end
`,
  reset: `reset = current${n} > 0 and start${n} + ${2 * span} - last${n} or previous${n} > 0 and start${n} + ${span} - last${n} or 0`,
  advance: `
if at${n} - start${n} >= ${span} then
  local start = at${n} - at${n} % ${span}
  previous${n} = start - start${n} == ${span} and current${n} or 0
  current${n} = 0
  start${n} = start
end
`,
  wait: (cost) => `fadingWait(${span}, start${n}, current${n}, previous${n}, ${limit} - ${cost} - current${n}, at${n})`,
  take: `
current${n} = current${n} + cost
last${n} = at${n}
`,
  count: `
local counted${n} = 35184372088832 - current${n}
if cost < counted${n} then counted${n} = cost end
current${n} = current${n} + counted${n}
last${n} = at${n}
`,
  report: `
used = current${n}
if previous${n} > 0 then used = used + (previous${n} - mulDiv(previous${n}, at${n} - start${n}, ${span})) end
remaining = ${limit} - used
if remaining < 0 then remaining = 0 end
reset = current${n} > 0 and start${n} + ${2 * span} - at${n} or previous${n} > 0 and start${n} + ${span} - at${n} or 0
`,
})
