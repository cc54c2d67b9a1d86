import type { SlidingLog } from '../../../../algorithms/logs/index.ts'
import type { ShortSteps } from './step.ts'

/** An entry stores a time in 6 bytes, modulo `times`, and a total in 3 bytes, modulo `totals` (see ../steps/log-entries.ts). */
const times = 2 ** 48
const totals = 2 ** 24

/**
 * The largest total (running count of units) with which the short script decides. With a larger total, the whole script decides, and
 * starts the totals from 0 again (../steps/log-entries.ts).
 */
const largestTotal = 2 ** 50

/** The largest limit of a log for a short script (for the frequent calls). With a larger limit, a total may need more than 3 bytes. */
export const largestShortLog: number = totals - 1

const timeOf = (entry: string): string => `base + (unpack('<I6', log, entries + 9 * (${entry})) - base) % times`

const totalOf = (entry: string): string =>
  `before + (unpack('<I3', log, entries + 9 * (${entry}) + 6) - before) % totals`

/** Lua code that sets `low` to the first entry, from `low` on, whose time (or total) is above `bound`. */
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
 * The Lua version of algorithms/logs/sliding-log.ts and log-entries.ts, for logs with narrow entries and without reservations. The text has
 * no Lua functions, because creating a function takes longer than most calls: the expressions above are inserted as text.
 *
 * State: `last`; `first`, the index of the first entry in the window; `stop`, the index after the last entry; `before`, the total
 * before the first entry; `base`, the time of the first entry; `total`, the total of the newest entry. `log` is the value of the
 * key, which contains the entries as bytes.
 *
 * All calls of a batch come at the same time, so their units are one entry, which is packed after the last call. Until then, the
 * units of that entry are `total` minus `stored`, which is the total in the value.
 */
export const slidingLog: ShortSteps<SlidingLog> = {
  // Before the entries, a value has the head (kind and numbers of the policy), the size (4 bytes), and the numbers (21 bytes).
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
    // For most refused calls, the wait ends when the units of the first entry leave the window: in this case, no search is needed.
    wait: `
cost > limit and never
or total + cost - limit <= before and 0
or total + cost - limit == before + 1 and first < stop and base + span - at
or total + cost - limit > stored and span
or (function(target)
  ${firstAbove(totalOf, 'first', 'stop - 1', 'target - 1')}
  return ${timeOf('low')} + span - at
end)(total + cost - limit)`,
    // If the log has no entries, its totals start from 0 again with the new entry.
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
