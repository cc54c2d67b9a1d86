import { type Penalty, unlimited } from '../../../../algorithms/bans/index.ts'
import type { ShortSteps } from './step.ts'

/** The Lua version of algorithms/bans/penalty.ts, for the short script of one plan (set of policies). */
export const penalty: ShortSteps<Penalty> = {
  numbers: ({ after, within, forget, bans, countsAlways, endsWithWindow }) => ({
    ...{ after, within, forget, countsAlways, endsWithWindow, unlimited },
    durations: `({ ${bans.join(', ')} })`,
    most: Math.max(1, bans.length),
  }),
  step: {
    state: ['last', 'start', 'refusals', 'bans'],
    lastNumber: 'ends',
    prelude: '',
    reset: '',
    advance: '',
    wait: 'ends > at and ends - at or 0',
    take: '',
    counts: 'countsAlways or ends <= at',
    count: `
if ends > at then
  ends = math.max(ends, at + durations[bans])
else
  if at - ends >= forget then bans = 0 end
  if refusals == 0 or at - start >= within then start, refusals = at, 0 end
  refusals = refusals + 1
  if refusals >= after then
    local duration = endsWithWindow and delay - (at - now) or durations[math.min(bans + 1, most)]
    if duration ~= never then
      ends, bans, refusals = math.min(at + duration, maxSafe), math.min(bans + 1, most), 0
    end
  end
end
last = at
`,
    report: `
local counted = refusals > 0 and start + within - at or 0
local forgotten = bans > 0 and ends + forget - at or 0
used = counted > 0 and refusals or 0
remaining = ends > at and 0 or unlimited - used
reset = counted > forgotten and counted or forgotten
if reset < 0 then reset = 0 end
`,
  },
}
