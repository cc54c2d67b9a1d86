/*
 * The differential test has to notice one changed token in the script of a plan, as in the whole script
 * (mutation.long.test.ts). Each mutation names a text of that script; numbers in it are written as #.
 *
 * Some changes have no effect. Redis makes the least integer of an infinite number, which is read as never where a wait is
 * told, and as 0 where the next unit is: so `never and -1` and the `=` of `remaining >= burst` show nowhere. The time of Redis is
 * in plain.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { Script as LuaScript } from '../../../src/stores/redis/script/loaded-script.ts'
import { script } from '../../../src/stores/redis/script/script.ts'
import fc from '../../support/fast-check.ts'
import {
  compareShort,
  logTimelines,
  type ShortKind,
  type ShortPlan,
  shortPlans,
  shortScripts,
} from '../../support/short-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

const bucket: ShortKind[] = ['bucket']
const interval: ShortKind[] = ['interval', 'clockWindow', 'firstRequest']
const sliding: ShortKind[] = ['slidingWindow']
const log: ShortKind[] = ['slidingLog']

const mutations: readonly (readonly [on: ShortPlan, from: string, to: string])[] = [
  [bucket, 'fits and ceil(excess / rate)', 'fits and floor(excess / rate)'],
  [bucket, 'ceil(excess / rate) or never', 'ceil(excess / rate) or 1'],
  [bucket, 'level1 = level1 - (at1 - last1)', 'level1 = level1 + (at1 - last1)'],
  [bucket, 'if level1 < 0 then level1 = 0 end', ''],
  [bucket, 'level1 = level1 + cost', 'level1 = level1 + 1 + cost'],
  [bucket, 'last1 = at1', ''],
  [bucket, 'reset = ceil(level1 / #)\nremaining', 'reset = 0\nremaining'],
  [bucket, 'remaining = floor(', 'remaining = ceil('],
  [bucket, 'remaining, used = 0, ceil(', 'remaining, used = 0, 0 * ceil('],
  [bucket, 'wait1 = wait1 + (at1 - now)', 'wait1 = wait1'],
  [bucket, 'reply[size] = reset + (at1 - now)', 'reply[size] = reset'],
  [bucket, 'at1 = now < last1 and last1 or now', 'at1 = now'],
  [bucket, ' and last1 - now < #', ''],
  [bucket, 'plain = head1 == begin1', 'plain = true'],
  [bucket, 'if filled > level1 then level1 = filled end', ''],
  [interval, 'if filled > spent1 then spent1 = filled end', 'spent1 = filled'],
  [interval, 'if filled > # then filled = # end', ''],
  [sliding, 'current1 = current1 + counted', 'current1 = current1'],
  [bucket, 'written = true\nend', 'end'],
  [interval, 'if short <= 0 then return 0', 'if short < 0 then return 0'],
  [interval, 'toStart + ceil(short / rate) * per or never', 'ceil(short / rate) * per or never'],
  [interval, 'start1 = start1 + intervals', 'start1 = start1 - intervals'],
  [interval, 'spent1 = spent1 - intervals', 'spent1 = spent1 + intervals'],
  [interval, 'if spent1 < 0 then spent1 = 0 end', ''],
  [interval, 'spent1 = spent1 + cost', 'spent1 = cost'],
  [interval, 'if spent1 == 0 then start1', 'if spent1 >= 0 then start1'],
  [interval, 'start1 - at1 + ceil(spent1 / #)', 'start1 - at1 + floor(spent1 / #)'],
  [interval, 'if remaining < 0 then remaining = 0 end', ''],
  [sliding, 'span, count - units, count)', 'span, units, count)'],
  [sliding, 'if spare >= previous or', 'if spare >= 0 or'],
  [sliding, 'previous - mulDiv(previous, at - start, span) then', 'previous then'],
  [sliding, 'previous, previous - spare) - at', 'previous, spare) - at'],
  [sliding, 'if spare < -current then return never end', ''],
  [sliding, 'return start + span + fadeTime', 'return start + fadeTime'],
  [sliding, 'local begin = at1 - at1 % #', 'local begin = at1'],
  [sliding, 'and current1 or 0\ncurrent1 = 0', 'and 0 or 0\ncurrent1 = 0'],
  [sliding, '\ncurrent1 = 0\n', '\n'],
  [sliding, 'current1 = current1 + cost', 'current1 = current1 + 1'],
  [sliding, 'used = used + (previous1 -', 'used = used - (previous1 -'],
  [sliding, 'if remaining < 0 then remaining = 0 end', ''],
  [sliding, 'previous1 > 0 and start1 + # - at1 or 0', '0'],
  [log, '(size1 - #) % # == 0', 'true'],
  [log, 'last1 - now < # and newest1', 'newest1'],
  [log, 'newest1, total1 = base1 + (', 'newest1, total1 = base1 - 1 + ('],
  [log, 'before1 + (unpack(', '(unpack('],
  [log, 'stored1 = total1', 'stored1 = 0'],
  [log, 'if first1 < stop1 and base1 <= at1', 'if first1 < stop1 and base1 < at1'],
  [log, 'if newest1 <= at1 - # then', 'if newest1 < at1 - # then'],
  [log, 'first1, before1 = stop1, total1', 'first1 = stop1'],
  [log, 'first1, before1 = stop1, total1', 'before1 = total1'],
  [log, 'if first1 == stop1 and total1 == before1 then before1, total1, stored1 = 0, 0, 0 end', ''],
  [log, 'before1, total1, stored1 = 0, 0, 0', 'before1, total1 = 0, 0'],
  [log, '<= at1 - # do low', '< at1 - # do low'],
  [log, 'low + step, 2 * step end', 'low + 2 * step, 2 * step end'],
  [log, 'if high > low + step - 1 then high = low + step - 1 end', 'high = low + step - 1'],
  [log, '> at1 - # then high = middle', '>= at1 - # then high = middle'],
  [log, '> target - 1 then high', '> target then high'],
  [log, '<= target - 1 do low', '<= target do low'],
  [log, 'else low = middle + 1 end', 'else low = middle + 2 end'],
  [log, 'base1, before1, first1 = base1 + (', 'base1, before1, first1 = base1 + 0 * ('],
  [log, '* (low - 1) + 6)', '* low + 6)'],
  [log, 'cost > # and never', 'false'],
  [log, '<= before1 and 0', '< before1 and 0'],
  [log, '== before1 + 1 and', '== before1 + 2 and'],
  [log, '> stored1 and #\nor (function', '>= stored1 and #\nor (function'],
  [log, 'cost - # > stored1 and #\nor', 'cost - # > stored1 + # and #\nor'],
  [log, '+ # - at1\nend)', '+ # - 0 * at1\nend)'],
  [log, 'total1 = total1 + cost', 'total1 = total1 + 1'],
  [log, 'if remaining < 0 then remaining = 0 end', ''],
  [log, 'used = total1 - before1', 'used = total1'],
  [log, '(total1 > stored1 and at1 or newest1)', 'newest1'],
  [log, 'reset = used == 0 and 0 or (total1', 'reset = (total1'],
  [log, 'if first1 == stop1 then base1 = at1 end', ''],
  [log, 'if newest1 == at1 then stays', 'if false then stays'],
  [log, 'if newest1 == at1 then stays', 'if true then stays'],
  [log, '* stays - 1)', '* stays - 2)'],
  [log, 'string.sub(log1, # + # * first1,', 'string.sub(log1, #,'],
  ['punished', 'if total1 > stored1 then\nif first1', 'if true then\nif first1'],
  [log, 'if ends == readEnd and', 'if readEnd or'],
  ['several', 'allowed = wait1 == 0 and wait2 == 0', 'allowed = wait1 == 0'],
  ['several', 'allowed = wait1 == 0', 'allowed = true'],
  ['several', 'if not taken then', 'if false then'],
  ['several', 'taken = true', ''],
  ['punished', 'ends# > at# and ends# - at# or 0', 'ends# > at# and 1 or 0'],
  ['punished', 'or ends# <= at# then', 'or ends# < at# then'],
  ['punished', '>= # then bans# = 0 end', '> # then bans# = 0 end'],
  ['punished', 'refusals# == 0 or at# - start# >= #', 'refusals# == 0 or at# - start# > #'],
  ['punished', 'refusals# == 0 or at# -', 'refusals# < 0 or at# -'],
  ['punished', 'refusals# = refusals# + 1', 'refusals# = refusals# + 2'],
  ['punished', 'if refusals# >= # then', 'if refusals# > # then'],
  ['punished', '[math.min(bans# + 1, #)]', '[1]'],
  ['punished', 'math.min(bans# + 1, #), 0', 'bans# + 1, 0'],
  ['punished', 'if duration ~= never then', 'if true then'],
  ['punished', 'delay - (at# - now)', 'delay'],
  ['punished', 'end\nlast# = at#\nwait', 'end\nwait'],
  ['punished', '})[bans#])', '})[1])'],
  ['punished', 'and start# + # - at# or 0', 'and start# + 0 * # - at# or 0'],
  ['punished', 'and ends# + # - at# or 0', 'and ends# + 0 * # - at# or 0'],
  ['punished', 'used = counted > 0', 'used = counted >= 0'],
  ['punished', 'remaining = ends# > at#', 'remaining = ends# >= at#'],
  ['punished', 'if free and wait', 'if wait'],
  ['punished', '\nat1 = now\n', '\n'],
  ['punished', 'local delay = math.max(wait1, ', 'local delay = math.max('],
  ['punished', '\nends# = 0\nelse', '\nelse'],
  ['punished', 'ends# == 0 and pack', 'ends# >= 0 and pack'],
]

function mutate(plain: string, from: string, to: string): string {
  const pattern = from
    .replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
    .replaceAll('\\#', '#')
    .replaceAll('#', '([\\d.e+]+)')
  let group = 0
  const text = to.replaceAll('#', () => `$${++group}`)
  return plain.replace(new RegExp(pattern, 'g'), text)
}

describe.each(mutations)('%s', (on, from, to) => {
  test(`the differential test notices: ${from} => ${to}`, async () => {
    let changed = false
    const changeShort = (plain: string) => {
      const text = mutate(plain, from, to)
      changed ||= text !== plain
      return text
    }
    let failed = false
    const examples = on === log ? [...logTimelines] : []
    for (const numRuns of [20, 400]) {
      const property = fc.asyncProperty(shortPlans(on), shortScripts, (plans, calls) =>
        compareShort(client, plans, calls, { whole: new LuaScript(script), changeShort }),
      )
      failed ||= (await fc.check(property, { numRuns, seed: 7, endOnFailure: true, examples })).failed
    }
    await client.script('FLUSH')
    expect({ changed, failed }).toEqual({ changed: true, failed: true })
  }, 300_000)
})
