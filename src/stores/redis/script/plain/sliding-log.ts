import type { SlidingLog } from '../../../../algorithms/logs/index.ts'
import type { PlainSteps } from './step.ts'

/** How many times and totals an entry can tell apart by its lower bytes (see ../steps/log-entries.ts). */
const times = 2 ** 48
const totals = 2 ** 24

/** Totals start from 0 again before they pass 2^51 (see ../steps/log-entries.ts). Only the whole script does that. */
const largestTotal = 2 ** 50

/** The largest limit of a plain log. A larger log may need entries of the wide form. */
export const largestPlainLog: number = totals - 1

const timeOf = (entry: string): string => `base + (unpack('<I6', log, entries + 9 * (${entry})) - base) % times`

const totalOf = (entry: string): string =>
  `before + (unpack('<I3', log, entries + 9 * (${entry}) + 6) - before) % totals`

/** Sets `low` to the first of the entries from `low` on whose number is above `bound`. */
const firstAbove = (numberOf: (entry: string) => string, low: string, high: string, bound: string): string => `
local low, high, step = ${low}, ${high}, 1
while low + step <= high and ${numberOf('low + step - 1')} <= ${bound} do low, step = low + step, 2 * step end
if high > low + step - 1 then high = low + step - 1 end
while low < high do
  local middle = floor((low + high) / 2)
  if ${numberOf('middle')} > ${bound} then high = middle else low = middle + 1 end
end
`

/**
 * Restates logs/sliding-log.ts and logs/log-entries.ts of the algorithms, for logs of narrow entries in the past. It has no Lua
 * functions, because making one takes longer than most calls: the expressions above are put in as text.
 *
 * State: `last`; `first`, the index of the first entry in the window, and `stop`, one past the last; `before`, the total before the
 * first, and `base`, its time; `total`, that of the newest entry. The entries are bytes of `log`, the value.
 *
 * All calls of a batch come at the same time, so the units that they take are one entry, which is packed at the end. Until then,
 * these units are `total` less `stored`, the total in the value.
 */
export const slidingLog: PlainSteps<SlidingLog> = {
  // Before the entries, a value has the head, the size in 4 bytes, and the numbers in 21.
  numbers: ({ span, limit, tolerance }, head) => ({
    ...{ span, limit, tolerance, times, totals, largestTotal },
    entries: head + 4 + 21 + 1,
  }),
  step: {
    state: ['last', 'first', 'before', 'base', 'total', 'stored'],
    log: {
      names: ['head', 'size', 'log', 'stop', 'newest'],
      numbers: ['last', 'before', 'base'],
      isUsual: 'size >= 21 and (size - 21) % 9 == 0',
      entries: `
log, first, stop, newest, total = value, 0, (size - 21) / 9, -1, before
if stop > 0 then newest, total = ${timeOf('stop - 1')}, ${totalOf('stop - 1')} end
stored = total
`,
      isPlain: 'last - now < tolerance and newest <= last and before < largestTotal',
      fresh: `log, last, first, stop, before, base, newest, total, stored = '', 0, 0, 0, 0, 0, -1, 0, 0`,
      pack: `
local stays, added = stop, ''
if total > stored then
  if first == stop then base = at end
  if newest == at then stays = stop - 1 end
  added = pack('<I6I3', at % times, total % totals)
end
local kept = string.sub(log, entries + 9 * first, entries + 9 * stays - 1)
`,
    },
    prelude: '',
    reset: 'reset = newest < 0 and 0 or newest + span - last',
    advance: `
if first < stop and base <= at - span then
  if newest <= at - span then
    first, before = stop, total
  else
    ${firstAbove(timeOf, 'first + 1', 'stop - 1', 'at - span')}
    base, before, first = ${timeOf('low')}, ${totalOf('low - 1')}, low
  end
end
`,
    // The first entry holds the first unit, so most refused calls need no search.
    wait: `
cost > limit and never
or total + cost - limit <= before and 0
or total + cost - limit == before + 1 and first < stop and base + span - at
or total + cost - limit > stored and span
or (function(target)
  ${firstAbove(totalOf, 'first', 'stop - 1', 'target - 1')}
  return ${timeOf('low')} + span - at
end)(total + cost - limit)`,
    // A log without entries starts its totals from 0 again, when it gets one.
    take: `
if first == stop and total == before then before, total, stored = 0, 0, 0 end
total = total + cost
last = at
`,
    count: '',
    report: `
used = total - before
remaining = limit - used
if remaining < 0 then remaining = 0 end
reset = used == 0 and 0 or (total > stored and at or newest) + span - at
`,
  },
}
