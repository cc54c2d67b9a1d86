import type { SlidingWindow } from '../../../../algorithms/windows/index.ts'
import { mulDiv } from '../steps/index.ts'
import type { ShortSteps } from './step.ts'

/** The Lua version of algorithms/windows/sliding-window.ts. */
export const slidingWindow: ShortSteps<SlidingWindow> = {
  numbers: ({ span, limit }) => ({ span, limit, mostCounted: 2 ** 45 }),
  step: {
    state: ['last', 'start', 'current', 'previous'],
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
    reset: 'reset = current > 0 and start + 2 * span - last or previous > 0 and start + span - last or 0',
    advance: `
if at - start >= span then
  local begin = at - at % span
  previous = begin - start == span and current or 0
  current = 0
  start = begin
end
`,
    wait: 'fadingWait(span, start, current, previous, limit - cost - current, at)',
    take: `
current = current + cost
last = at
`,
    count: `
local counted = mostCounted - current
if cost < counted then counted = cost end
current = current + counted
last = at
`,
    report: `
used = current
if previous > 0 then used = used + (previous - mulDiv(previous, at - start, span)) end
remaining = limit - used
if remaining < 0 then remaining = 0 end
reset = current > 0 and start + 2 * span - at or previous > 0 and start + span - at or 0
`,
  },
}
