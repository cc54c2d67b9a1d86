/*
 * The differential test has to notice one changed token in the script of a plan, as in the whole script
 * (mutation.long.test.ts). Each mutation names a text of that script; numbers in it are written as #.
 */
import { describe, expect, test } from 'vitest'
import type { Policy } from '../../../src/index.ts'
import { script } from '../../../src/stores/redis/lua/script.ts'
import { Script as LuaScript } from '../../../src/stores/redis/script.ts'
import { compare, policiesOf, type Script, scripts } from '../../support/differential.ts'
import fc from '../../support/fast-check.ts'
import { redisSubject } from '../../support/redis-subject.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

type Name = Parameters<typeof policiesOf>[0]

const bucket: Name[] = ['bucket']
const interval: Name[] = ['interval', 'clockWindow', 'firstRequest']
const sliding: Name[] = ['slidingWindow']

const mutations: readonly (readonly [on: readonly Name[], from: string, to: string])[] = [
  [bucket, 'fits and ceil(excess / rate)', 'fits and floor(excess / rate)'],
  [bucket, 'ceil(excess / rate) or never', 'ceil(excess / rate) or 1'],
  [bucket, 'level1 = level1 - (at1 - last1)', 'level1 = level1 + (at1 - last1)'],
  [bucket, 'if level1 < 0 then level1 = 0 end', ''],
  [bucket, 'level1 = level1 + cost', 'level1 = level1 + 1 + cost'],
  [bucket, 'last1 = at1', ''],
  [bucket, 'reset = ceil(level1 / #)\nremaining', 'reset = 0\nremaining'],
  [bucket, 'remaining, used = 0, ceil(', 'remaining, used = 0, 0 * ceil('],
  [bucket, 'wait1 = wait1 + (at1 - now)', 'wait1 = wait1'],
  [bucket, 'reply[size] = reset + (at1 - now)', 'reply[size] = reset'],
  [bucket, 'at1 = now < last1 and last1 or now', 'at1 = now'],
  [bucket, ' and last1 - now < #', ''],
  [bucket, 'if filled1 > level1 then level1 = filled1 end', ''],
  [interval, 'if filled1 > spent1 then spent1 = filled1 end', 'spent1 = filled1'],
  [interval, 'if filled1 > # then filled1 = # end', ''],
  [sliding, 'current1 = current1 + counted1', 'current1 = current1'],
  [bucket, 'written = true\nend', 'end'],
  [interval, 'if short <= 0 then return 0', 'if short < 0 then return 0'],
  [interval, 'toStart + ceil(short / rate) * per or never', 'ceil(short / rate) * per or never'],
  [interval, 'spent1 = spent1 - intervals', 'spent1 = spent1 + intervals'],
  [interval, 'if spent1 < 0 then spent1 = 0 end', ''],
  [interval, 'spent1 = spent1 + cost', 'spent1 = cost'],
  [interval, 'if spent1 == 0 then start1', 'if spent1 >= 0 then start1'],
  [interval, 'start1 - at1 + ceil(spent1 / #)', 'start1 - at1 + floor(spent1 / #)'],
  [interval, 'if remaining < 0 then remaining = 0 end', ''],
  [sliding, 'span, count - units, count)', 'span, units, count)'],
  [sliding, 'if spare >= previous or', 'if spare >= 0 or'],
  [sliding, 'previous, previous - spare) - at', 'previous, spare) - at'],
  [sliding, 'if spare < -current then return never end', ''],
  [sliding, 'return start + span + fadeTime', 'return start + fadeTime'],
  [sliding, 'local start = at1 - at1 % #', 'local start = at1'],
  [sliding, 'and current1 or 0\ncurrent1 = 0', 'and 0 or 0\ncurrent1 = 0'],
  [sliding, '\ncurrent1 = 0\n', '\n'],
  [sliding, 'current1 = current1 + cost', 'current1 = current1 + 1'],
  [sliding, 'used = used + (previous1 -', 'used = used - (previous1 -'],
  [sliding, 'if remaining < 0 then remaining = 0 end', ''],
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
    const subject = redisSubject(client, { whole: new LuaScript(script), changePlain })
    let failed = false
    for (const numRuns of [1000, 5000]) {
      for (const name of on) {
        const property = fc.asyncProperty<[Policy[], Script]>(policiesOf(name), scripts, (policies, calls) =>
          compare(subject, policies, calls),
        )
        failed ||= (await fc.check(property, { numRuns, seed: 7, endOnFailure: true })).failed
      }
    }
    await client.script('FLUSH')
    expect({ changed, failed }).toEqual({ changed: true, failed: true })
  }, 300_000)
})
