import type { CalendarWindow } from '../../../../algorithms/windows/index.ts'
import type { ShortSteps } from './step.ts'

/** The Lua version of algorithms/windows/calendar-window.ts. */
export const calendarWindow: ShortSteps<CalendarWindow> = {
  numbers: ({ limit }) => ({ limit }),
  step: {
    state: ['last', 'units', 'start', 'finish', 'told'],
    windows: ['before', 'present', 'following', 'final'],
    prelude: '',
    reset: 'reset = (units > 0 or told > 0) and finish - last or 0',
    advance: `
if at >= finish or (units == 0 and told == 0) then
  units, told = 0, 0
  start = at < present and before or at < following and present or following
  local ends = at < present and present or at < following and following or final
  if at < ends then finish = ends end
end
`,
    wait: '(units + cost <= limit and 0 or cost > limit and never or finish - at)',
    take: `
units = units + cost
last = at
`,
    count: `
local filled = units + cost
if filled > limit then filled = limit end
if filled > units then units = filled end
last = at
`,
    report: `
remaining, used = limit - units, units
if remaining < 0 then remaining = 0 end
reset = (units > 0 or told > 0) and finish - at or 0
`,
  },
}
