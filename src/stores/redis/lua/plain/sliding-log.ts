import type { SlidingLog } from '../../../../algorithms/sliding-log.ts'
import type { MakeStep } from './step.ts'

/** A record holds its size, three numbers, and the entries: the lower bytes of a time and of a total (see ../log-entries.ts). */
const numbers = 21
const entry = 9
const times = 2 ** 48
const totals = 2 ** 24

/** Totals start from 0 again before they pass 2^51 (see ../log-entries.ts). Only the whole script does that. */
const largestTotal = 2 ** 50

/** Larger logs may need entries of the wide form. */
export const largestLog: number = totals - 1

/**
 * Restates algorithms/sliding-log.ts, for logs of narrow entries that all lie in the past. `first` and `end` are where the entries
 * of the window begin and end in the value. All calls of a batch come at one time, so what they take is one entry: `used` less
 * `stored`, which the entries in the value have.
 */
export const slidingLogStep: MakeStep<SlidingLog> = (n, { span, limit, tolerance }, head) => ({
  state: [`last${n}`, `before${n}`, `base${n}`, `first${n}`, `stored${n}`, `used${n}`],
  log: {
    names: ['head', 'size', 'last', 'before', 'base', 'newest', 'first', 'end', 'stored', 'used'].map(
      (name) => `${name}${n}`,
    ),
    least: head + 4 + numbers,
    numbers: `head${n}, size${n}, last${n}, before${n}, base${n} = unpack('<c${head}I4i7i7i7', value)`,
    isUsual: `head${n} == begin${n} and size${n} >= ${numbers} and size${n} % ${entry} == ${numbers % entry}`,
    size: `(${head + 4} + size${n})`,
    newest: `
first${n}, end${n}, newest${n}, stored${n} = ${head + 5 + numbers}, ${head + 5} + size${n}, -1, 0
if end${n} > first${n} then
  newest${n}, stored${n} = unpack('<I6I3', value, end${n} - ${entry})
  newest${n} = base${n} + (newest${n} - base${n}) % ${times}
  stored${n} = (stored${n} - before${n}) % ${totals}
end
used${n} = stored${n}
`,
    isPlain: `last${n} - now < ${tolerance} and newest${n} <= last${n} and before${n} < ${largestTotal}`,
    fresh: `last${n}, before${n}, base${n}, newest${n}, first${n}, end${n}, stored${n}, used${n} = 0, 0, 0, -1, 1, 1, 0, 0`,
    pack: `
local time, kept = newest${n}, end${n} - first${n} - ${entry}
if used${n} > stored${n} then
  time = at${n}
  if kept < 0 then before${n}, base${n} = 0, at${n} end
  if newest${n} ~= at${n} then kept = kept + ${entry} end
end
local entries = kept > 0 and string.sub(value, first${n}, first${n} + kept - 1) or ''
`,
    format: `c${head}I4i7i7i7c0I6I3`,
    values: [
      ...[`begin${n}`, `${numbers + entry} + kept`, `last${n}`, `before${n}`, `base${n}`],
      ...['entries', `time % ${times}`, `(before${n} + used${n}) % ${totals}`],
    ],
    withoutEntry: `if kept < 0 then text = string.sub(text, 1, ${head + 4 + numbers}) .. string.sub(text, ${head + 5 + numbers + entry}) end`,
  },
  prelude: '',
  reset: `reset = newest${n} < 0 and 0 or newest${n} + ${span} - last${n}`,
  advance: `
if newest${n} >= 0 and base${n} <= at${n} - ${span} then
  if newest${n} <= at${n} - ${span} then
    first${n}, stored${n}, used${n} = end${n}, 0, 0
  else
    local low, high = 0, (end${n} - first${n}) / ${entry} - 1
    while high - low > 1 do
      local middle = floor((low + high) / 2)
      local time = unpack('<I6', value, first${n} + ${entry} * middle)
      if base${n} + (time - base${n}) % ${times} > at${n} - ${span} then high = middle else low = middle end
    end
    local total, time = unpack('<I3I6', value, first${n} + ${entry} * low + 6)
    local gone = (total - before${n}) % ${totals}
    before${n}, stored${n}, used${n} = before${n} + gone, stored${n} - gone, used${n} - gone
    base${n} = base${n} + (time - base${n}) % ${times}
    first${n} = first${n} + ${entry} * high
  end
end
`,
  // A function is made only by a call that needs it, because that takes time.
  wait: (cost) => `
used${n} <= ${limit} - ${cost} and 0 or ${cost} > ${limit} and never
or used${n} + ${cost} - ${limit} > stored${n} and ${span}
or used${n} + ${cost} - ${limit} == 1 and base${n} + ${span} - at${n}
or (function(units)
  local low, high = 0, (end${n} - first${n}) / ${entry} - 1
  while low < high do
    local middle = floor((low + high) / 2)
    local total = unpack('<I3', value, first${n} + ${entry} * middle + 6)
    if (total - before${n}) % ${totals} >= units then high = middle else low = middle + 1 end
  end
  local time = unpack('<I6', value, first${n} + ${entry} * low)
  return base${n} + (time - base${n}) % ${times} + ${span} - at${n}
end)(used${n} + ${cost} - ${limit})`,
  take: `
used${n} = used${n} + cost
last${n} = at${n}
`,
  count: '',
  report: `
remaining, used = ${limit} - used${n}, used${n}
if remaining < 0 then remaining = 0 end
reset = used${n} == 0 and 0 or used${n} > stored${n} and ${span} or newest${n} + ${span} - at${n}
`,
})
