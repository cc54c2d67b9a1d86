/*
 * The differential test has to notice one changed token in the script of a plan, as in the whole script
 * (mutation.long.test.ts). Each mutation names a text of that script; numbers in it are written as #.
 *
 * Some changes have no effect. Redis makes the least integer of an infinite number, which is read as never where a wait is
 * told, and as 0 where the next unit is: so `never and -1` and the `=` of `remaining >= burst` show nowhere. The time of Redis is
 * in plain.test.ts.
 */
import { describe, expect, test } from 'vitest'
import { script } from '../../../src/stores/redis/lua/script.ts'
import { Script as LuaScript } from '../../../src/stores/redis/script.ts'
import fc from '../../support/fast-check.ts'
import {
  comparePlain,
  type PlainKind,
  type PlainPlan,
  plainPlans,
  plainScripts,
} from '../../support/plain-differential.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

const bucket: PlainKind[] = ['bucket']
const interval: PlainKind[] = ['interval', 'clockWindow', 'firstRequest']
const sliding: PlainKind[] = ['slidingWindow']
const log: PlainKind[] = ['slidingLog']

const mutations: readonly (readonly [on: PlainPlan, from: string, to: string])[] = [
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
  [bucket, 'if filled1 > level1 then level1 = filled1 end', ''],
  [interval, 'if filled1 > spent1 then spent1 = filled1 end', 'spent1 = filled1'],
  [interval, 'if filled1 > # then filled1 = # end', ''],
  [sliding, 'current1 = current1 + counted1', 'current1 = current1'],
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
  [sliding, 'local start = at1 - at1 % #', 'local start = at1'],
  [sliding, 'and current1 or 0\ncurrent1 = 0', 'and 0 or 0\ncurrent1 = 0'],
  [sliding, '\ncurrent1 = 0\n', '\n'],
  [sliding, 'current1 = current1 + cost', 'current1 = current1 + 1'],
  [sliding, 'used = used + (previous1 -', 'used = used - (previous1 -'],
  [sliding, 'if remaining < 0 then remaining = 0 end', ''],
  [sliding, 'previous1 > 0 and start1 + # - at1 or 0', '0'],
  [log, 'size1 % 9 == 3', 'true'],
  [log, 'last1 - now < # and newest1', 'newest1'],
  [log, 'newest1 = base1 + (newest1 - base1) %', 'newest1 = base1 - 1 + (newest1 - base1) %'],
  [log, 'stored1 = (stored1 - before1)', 'stored1 = stored1'],
  [log, '> stored1 and # or', '>= stored1 and # or'],
  [log, '== 1 and base1 + #', '== 2 and base1 + #'],
  [log, '>= units then high', '> units then high'],
  [log, 'return base1 + (time - base1) % #', 'return base1 + 0 * (time - base1) % #'],
  [log, 'base1) % # + # - at1', 'base1) % # + # - 0 * at1'],
  [log, 'and base1 <= at1 - # then', 'and base1 < at1 - # then'],
  [log, 'if newest1 <= at1 - # then', 'if newest1 < at1 - # then'],
  [log, '> at1 - # then high', '>= at1 - # then high'],
  [log, 'high - low > 1 do', 'high - low > 2 do'],
  [log, 'before1 + gone, stored1 - gone, used1 - gone', 'before1, stored1 - gone, used1 - gone'],
  [log, 'before1 + gone, stored1 - gone, used1 - gone', 'before1 + gone, stored1, used1 - gone'],
  [log, 'before1 + gone, stored1 - gone, used1 - gone', 'before1 + gone, stored1 - gone, used1'],
  [log, 'base1 = base1 + (time - base1)', 'base1 = base1 + 0 * (time - base1)'],
  [log, 'first1 = first1 + 9 * high', 'first1 = first1 + 9 * low'],
  [log, 'used1 = used1 + cost', 'used1 = used1 + 1'],
  [log, 'if remaining < 0 then remaining = 0 end', ''],
  [log, 'used1 > stored1 and # or newest1 + # - at1', 'used1 > stored1 and # or newest1 - at1'],
  [log, 'reset = used1 == 0 and 0 or used1 > stored1 and # or', 'reset = used1 == 0 and 0 or'],
  [log, 'before1, base1 = 0, at1', 'base1 = at1'],
  [log, 'before1, base1 = 0, at1', 'before1 = 0'],
  [log, 'if newest1 ~= at1 then kept', 'if true then kept'],
  [log, 'first1 + kept - 1) or', 'first1 + kept - 2) or'],
  [log, '(before1 + used1) %', 'used1 %'],
  ['punished', 'local time, kept = newest1,', 'local time, kept = 0 * newest1,'],
  ['punished', 'if kept < 0 then text =', 'if false then text ='],
  [log, 'if ends == readEnd and', 'if readEnd or'],
  ['several', 'allowed = wait1 == 0 and wait2 == 0', 'allowed = wait1 == 0'],
  ['several', 'allowed = wait1 == 0', 'allowed = true'],
  ['several', 'if not taken then', 'if false then'],
  ['several', 'taken = true', ''],
  ['punished', 'ends# > at# and ends# - at# or 0', 'ends# > at# and 1 or 0'],
  ['punished', 'if ends# <= at# then', 'if ends# < at# then'],
  ['punished', '>= # then blocks# = 0 end', '> # then blocks# = 0 end'],
  ['punished', 'refusals# == 0 or at# - start# >= #', 'refusals# == 0 or at# - start# > #'],
  ['punished', 'refusals# == 0 or at# -', 'refusals# < 0 or at# -'],
  ['punished', 'refusals# = refusals# + 1', 'refusals# = refusals# + 2'],
  ['punished', 'if refusals# >= # then', 'if refusals# > # then'],
  ['punished', '[math.min(blocks# + 1, #)]', '[1]'],
  ['punished', 'math.min(blocks# + 1, #), 0', 'blocks# + 1, 0'],
  ['punished', 'if duration ~= never then', 'if true then'],
  ['punished', 'delay - (at# - now)', 'delay'],
  ['punished', 'end\nlast# = at#\nwait', 'end\nwait'],
  ['punished', '})[blocks#])', '})[1])'],
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
    const changePlain = (plain: string) => {
      const text = mutate(plain, from, to)
      changed ||= text !== plain
      return text
    }
    let failed = false
    for (const numRuns of [20, 400]) {
      const property = fc.asyncProperty(plainPlans(on), plainScripts, (plans, calls) =>
        comparePlain(client, plans, calls, { whole: new LuaScript(script), changePlain }),
      )
      failed ||= (await fc.check(property, { numRuns, seed: 7, endOnFailure: true })).failed
    }
    await client.script('FLUSH')
    expect({ changed, failed }).toEqual({ changed: true, failed: true })
  }, 300_000)
})
