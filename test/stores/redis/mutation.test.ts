/*
 * The differential test must see one changed token in any function of any Lua step; else it proves little.
 */
import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { carryRules, type StateRule } from '../../../src/algorithms/carry.ts'
import type { Policy } from '../../../src/index.ts'
import { assemble, type Part, parts } from '../../../src/stores/redis/lua/script.ts'
import { type algorithms, compare, plansOf, policiesOf, type Script, scripts } from '../../support/differential.ts'
import { redisSubject } from '../../support/redis-subject.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

type Algorithm = keyof typeof algorithms
type Name = Parameters<typeof policiesOf>[0] | StateRule
/** A piece of a part's text, and what stands there instead. */
type Mutation = readonly [from: string, to: string]

interface Mutations {
  part: Part
  /** What shows it: policies, or plans under a rule, */
  on: readonly Name[]
  /** of this algorithm alone. */
  of?: Algorithm | undefined
  changes: readonly Mutation[]
}

const mutations: readonly Mutations[] = [
  {
    part: 'bucket',
    on: ['bucket'],
    changes: [
      ['s[2] - elapsed', 's[2] + elapsed'],
      ['elapsed <= 0', 'elapsed <= 1'],
      ['burst * weight\n', 'burst + weight\n'],
      ['cost > p.burst then return never', 'cost >= p.burst then return never'],
      ['if excess <= 0', 'if excess >= 0'],
      ['return ceil(excess', 'return floor(excess'],
      ['s[2] = level(p, s, at) + cost', 's[2] = level(p, s, at) - cost'],
      ['p.capacity, now + cost', 'p.capacity, now - cost'],
      ['s[2] = max(now, brim)', 's[2] = min(now, brim)'],
      ['max(0, at - since)', 'min(0, at - since)'],
      ['s[3] - given', 's[3] + given'],
      ['s[2] = now - back', 's[2] = now + back'],
      ['return s[1], s[2], s[3]', 'return s[1], s[2], s[1]'],
      ['floor(room / p.weight)', 'ceil(room / p.weight)'],
      ['ceil(now / p.drain)', 'floor(now / p.drain)'],
    ],
  },
  {
    part: 'intervalBucket',
    on: ['interval', 'clockWindow', 'firstRequest'],
    changes: [
      ['if at < last then', 'if at > last then'],
      ['start - (last - at)', 'start + (last - at)'],
      ['elapsed < p.window', 'elapsed <= p.window'],
      ['s[2] - (elapsed', 's[2] + (elapsed'],
      ['ceil((spent + cost - p.burst)', 'floor((spent + cost - p.burst)'],
      ['max(spent, refills', 'min(spent, refills'],
      [
        'if p.aligned then return at - at % p.window end\n    return at',
        'if p.aligned then return at end\n    return at',
      ],
      ['cost > p.burst then', 'cost >= p.burst then'],
      ['if short <= 0', 'if short < 0'],
      ['start + ceil(short', 'start + floor(short'],
      ['s[2] = booked(p, spent, cost, delay)', 's[2] = booked(p, spent, cost, 0)'],
      [
        'spent > 0 and start or opens(p, at)\n    s[1] = at\n  end\n\n  function intervalBucket.count',
        'spent >= 0 and start or opens(p, at)\n    s[1] = at\n  end\n\n  function intervalBucket.count',
      ],
      ['or min(p.burst, spent + cost)', 'or max(p.burst, spent + cost)'],
      ['max(0, start - since)', 'min(0, start - since)'],
      ['s[4] - given', 's[4] + given'],
      ['s[2] = spent - back', 's[2] = spent + back'],
      ['return s[3], s[2], s[4]', 'return s[1], s[2], s[4]'],
      ['max(0, p.burst - spent), spent == 0', 'max(0, p.burst - spent), spent == 1'],
    ],
  },
  {
    part: 'slidingWindow',
    on: ['slidingWindow'],
    changes: [
      ['at - at % p.span', 'at + at % p.span'],
      ['start <= s[2]', 'start < s[2]'],
      ['windows == p.span', 'windows >= p.span'],
      ['p.span - mulDiv(p.span', 'p.span + mulDiv(p.span'],
      ['room >= previous -', 'room > previous -'],
      ['if room >= 0', 'if room > 0'],
      ['s[3] = current + cost', 's[3] = current - cost'],
      ['s[4] = previousAt', 's[4] = currentAt'],
      ['maxFactor - currentAt', 'currentAt'],
      ['age <= 0 and', 'age < 0 and'],
      ['further = age == 1', 'further = age ~= 1'],
      ['s[4] - (cost', 's[4] + (cost'],
      ['return s[2], 0, 0', 'return s[1], 0, 0'],
      ['reset = toWindow + p.span', 'reset = toWindow'],
      ['(previous - gone)', '(previous + gone)'],
    ],
  },
  {
    part: 'segmentedWindow',
    on: ['segmentedWindow'],
    changes: [
      ['if at < s[1] then return 0', 'if at > s[1] then return 0'],
      ['p.segments + 1)', 'p.segments)'],
      ['for n = p.segments - age', 'for n = p.segments'],
      ['if over <= 0', 'if over < 0'],
      ['while over > s', 'while over >= s'],
      ['n >= age and', 'n > age and'],
      ['s[3] = s[3] + cost', 's[3] = s[3] - cost'],
      ['s[2] = floor(at', 's[2] = ceil(at'],
      ['maxSafe - usedAt', 'usedAt'],
      ['since and max(0, s[2]', 'since and min(0, s[2]'],
      ['s[3 + n] - back', 's[3 + n] + back'],
      ['cost = cost - back', 'cost = cost + back'],
      ['return s[2], 0, 0', 'return s[1], 0, 0'],
      ['s[3 + newest] == 0', 's[3 + newest] == 1'],
    ],
  },
  {
    part: 'slidingLog',
    on: ['slidingLog'],
    changes: [
      ['max(0, s[1] - at)', 'min(0, s[1] - at)'],
      ['at + ahead(s, at) - p.span\n', 'at + ahead(s, at) + p.span\n'],
      ['if time(s, middle) > left', 'if time(s, middle) >= left'],
      ['time(s, n) - sooner', 'time(s, n) + sooner'],
      ['s[4] = total(s, first - 1)', 's[4] = total(s, first)'],
      ['sum = total(s, last - 1) + cost', 'sum = total(s, last - 1) - cost'],
      ['newest >= at then', 'newest > at then'],
      ['low - s.base) % s.times', 'low - s.base)'],
      ['s[3] = last + 1', 's[3] = last'],
      ['s[3] = s[3] - 1', 's[3] = s[3] - 2'],
      ['p.limit\n    local low', 'p.limit + 1\n    local low'],
      ['if total(s, middle) >= target', 'if total(s, middle) > target'],
      ['max(queued, time', 'min(queued, time'],
      ['append(s, at + delay', 'append(s, at - delay'],
      ['min(cost, p.limit), 0)', 'max(cost, p.limit), 0)'],
      ['total(s, first) <= spare', 'total(s, first) < spare'],
      ['time(s, entry) > since', 'time(s, entry) >= since'],
      ['time(s, entry) ~= since', 'time(s, entry) == since'],
      ['return time(s, s[3] - 1), 0, 0', 'return time(s, s[2]), 0, 0'],
      ['newest > now and 0', 'newest < now and 0'],
      ['newest + p.span - now', 'newest - p.span + now'],
    ],
  },
  {
    part: 'smooth',
    on: ['smoothBursty', 'smoothWarmingUp'],
    changes: [
      ['ceil(number) or floor(number)', 'ceil(number) or ceil(number)'],
      ['ahead > p.patience and ahead', 'ahead >= 0 and ahead'],
      ['return s[2] - ahead', 'return s[2] + ahead'],
      ['return min(p.max, s[3]', 'return max(p.max, s[3]'],
      ['(at - free) / p.coolDown) end', '(at - free) * p.coolDown) end'],
      ['min(cost, stored)', 'max(cost, stored)'],
      ['(cost - spent) * p.stable', '(cost + spent) * p.stable'],
      ['s[3] = stored - spent', 's[3] = stored'],
      ['s[7] = cost', 's[7] = 0'],
      ['if free <= at then return end', 'if free >= at then return end'],
      ['max(at, free - back)', 'max(at, free)'],
      ['min(cost, p.max - stored)', 'cost'],
      ['max(stable, dearest)', 'min(stable, dearest) / 2'],
      ['max(patience, ceil', 'min(patience, ceil'],
      ['cost > p.most then return never', 'cost >= p.most then return never'],
      ['max(0, freeAt(p, s, at) - at)\n', 'max(1, freeAt(p, s, at) - at)\n'],
      ['<= 2 * longest', '<= longest'],
      ['cost == 0 and', 'cost == 1 and'],
      ['s[1] = ahead > 0 and at or max', 's[1] = ahead > 0 and at or min'],
      ['s[4] = s[4] + 1\n    s[5] = max', 's[4] = s[4] + 2\n    s[5] = max'],
      ['s[5] = max(free, at)', 's[5] = min(free, at)'],
      ['if smooth.fits(p, s, at, cost) then', 'if not smooth.fits(p, s, at, cost) then'],
      ['since ~= s[4]', 'since == s[4]'],
      ['max(0, taken - cost)', 'taken'],
      ['if cost >= taken', 'if cost > taken'],
      ['max(1, s[4] - 1)', 'max(1, s[4])'],
      ['return s[4], 0, 0', 'return s[1], 0, 0'],
      ['free <= at and p.most', 'free < at and p.most'],
      ['p.max - storedAt', 'p.max + storedAt'],
      ['ceil(missing * p.coolDown)', 'floor(missing * p.coolDown)'],
    ],
  },
  {
    part: 'smoothBursty',
    on: ['smoothBursty'],
    changes: [
      ['return 0', 'return 1'],
      ['stable, most, stable, stable, 0)', 'stable, most, stable, stable, 1)'],
    ],
  },
  {
    part: 'smoothWarmingUp',
    on: ['smoothWarmingUp'],
    changes: [
      ['p.stable + above', 'p.stable - above'],
      ['stored - p.threshold', 'stored + p.threshold'],
      ['min(above, permits)', 'max(above, permits)'],
      ['above - taken)', 'above)'],
      ['permits - taken', 'permits'],
      ['return micros + warming', 'return warming'],
      ['0.5 * warmup', '0.6 * warmup'],
      ['(stable + cold)', '(stable - cold)'],
      ['warmup / most, cold, most)', 'warmup / most, cold, 0)'],
      ['(cold - stable)', '(cold + stable)'],
    ],
  },
  {
    part: 'frame',
    on: ['several', 'firstRequest', 'slidingLog', 'bucket'],
    changes: [
      ['last - now < p.span', 'last - now <= p.span'],
      ['if only then return false', 'if only then return true'],
      ['not only.promises', 'only.promises'],
      ['wait = wait + (at - now)', 'wait = wait'],
      ['wait > delay and not p.shadow', 'wait > delay and p.shadow'],
      ['delay <= maxWait', 'delay >= maxWait'],
      ['if left > 0 and', 'if left >= 0 and'],
      ['cost, spread(tickets[n]))', 'cost)'],
      ['cost, wait - lag)', 'cost, wait)'],
      ['elseif p.countRefused and', 'elseif not p.countRefused and'],
      ['cost), lag) end', 'cost), 0) end'],
      ['elseif at < s[1]', 'elseif at > s[1]'],
      ['remaining, left + (at - now)', 'remaining, left'],
      ['if takes and not waits', 'if takes'],
      ['remaining + 1) + (p.at', 'remaining) + (p.at'],
      ['if p.wait == 0 then', 'if p.wait ~= 0 then'],
    ],
  },
  {
    part: 'states',
    on: ['bucket', 'keep', 'several'],
    changes: [
      ['    s[p.slots] = 0\n', ''],
      ['if s[slots] ~= 0 then', 'if s[slots] > 5 then'],
      ['s.before, s.expires, s.carried = text', "s.before, s.expires, s.carried = ''"],
      ['if s.before then return s.before end', ''],
      ['if heldBy[key] then release(heldBy[key]) end', ''],
      ['  written[key] = false\n', ''],
      ['not p.retunes', 'false'],
    ],
  },
  {
    part: 'penalty',
    on: ['punished'],
    changes: [
      ['max(0, s[1] - at)', 'min(0, s[1] - at)'],
      ['s[5] - ahead(s, at) - at)', 's[5] + ahead(s, at) - at)'],
      ['s[2] = max(0, s[2] - shift)', 's[2] = max(0, s[2])'],
      ['s[5] = max(0, s[5] - shift)', 's[5] = max(0, s[5])'],
      ['if since < 0 then', 'if since <= 0 then'],
      ['since >= p.forget', 'since > p.forget'],
      ['at - s[2] >= p.within', 'at - s[2] > p.within'],
      ['s[3] = s[3] + 1', 's[3] = s[3] + 2'],
      ['s[3] < p.after', 's[3] <= p.after'],
      ['p.blocks[min(s[4] + 1, #p.blocks)]', 'p.blocks[1]'],
      ['s[4] = min(s[4] + 1, #p.blocks)', 's[4] = s[4] + 1'],
      ['s[2] + p.within or 0', 's[2] - p.within or 0'],
      ['s[5] + p.forget or 0', 's[5] - p.forget or 0'],
      ['s[5] > now and 0', 's[5] >= now and 0'],
    ],
  },
  {
    part: 'carry',
    on: ['keep', 'scale', 'reset'],
    changes: [
      ['p.forgets or', 'not p.forgets or'],
      ['standing(from, s[1], now)', 'standing(p, s[1], now)'],
      ['if p.scales then', 'if not p.scales then'],
      ['times, per = most, whole', 'times, per = whole, most'],
      ['min(most, ratioUp', 'max(most, ratioUp'],
      ['if used > 0 then', 'if used > 1 then'],
    ],
  },
  ...[
    ['bucket', 'min(p.capacity, ratioUp(now, p.weight', 'min(p.capacity, ratioUp(now, 1 + p.weight'],
    ['bucket', 'ratioUp(level(from, s, at)', 'ratioUp(level(p, s, at)'],
    ['bucket', 's[3] + ceil(from.capacity / p.weight)', 's[3]'],
    ['bucket', 'booked == 0 and 0 or', ''],
    ['bucket', 'p.capacity + booked * p.drain', 'booked * p.drain'],
    ['bucket', 'max(units, ahead)', 'units'],
    ['intervalBucket', 'max(0, p.limit - from.limit)', '0'],
    ['intervalBucket', 'spentAt(from, s, start)\n    local booked', 'spentAt(p, s, start)\n    local booked'],
    ['intervalBucket', 'from.window == p.window and', ''],
    ['intervalBucket', 'and from.aligned == p.aligned', ''],
    ['intervalBucket', 'min(p.burst, ratioUp(spentAt(from', 'min(p.burst, ratioUp(spentAt(p'],
    ['intervalBucket', 's[4] + from.burst', 's[4]'],
    ['slidingWindow', 'or from.span ~= p.span', ''],
    ['slidingWindow', 's[4] = min(p.limit, ratioUp(s[4]', 's[4] = min(p.limit, ratioUp(s[3]'],
    ['slidingWindow', 's[3] = min(p.limit, ratioUp(s[3]', 's[3] = max(p.limit, ratioUp(s[3]'],
    ['segmentedWindow', 'from.span ~= p.span or', ''],
    ['segmentedWindow', 'or from.segments ~= p.segments', ''],
    ['segmentedWindow', 'room = room - s[3 + n]', ''],
    ['slidingLog', 'or from.span ~= p.span', ''],
    ['slidingLog', 'ratioUp(total(s, n) - before', 'ratioUp(total(s, n)'],
    ['smooth', 'if from.kind ~= p.kind then return false end', ''],
    ['smooth', 's[2] = max(free, at)', 's[2] = min(free, at)'],
    ['smooth', 's[3] = rescaled(p, storedAt(from', 's[3] = rescaled(p, storedAt(p'],
    ['smoothBursty', '(stored * p.max) / most', 'stored'],
    ['smoothWarmingUp', '(stored * p.max) / most', 'stored'],
  ].map(
    ([part, from, to]): Mutations => ({
      part: part as Part,
      on: part === 'intervalBucket' || part === 'bucket' ? ['keep', 'scale', 'retune'] : ['keep', 'scale'],
      of: algorithmOf(part as Part, from as string),
      changes: [[from as string, to as string]],
    }),
  ),
]

/** Undefined where it takes two different ones. */
function algorithmOf(part: Part, from: string): Algorithm | undefined {
  if (part === 'smooth' || from.includes('aligned')) return undefined
  return part === 'intervalBucket' ? 'firstRequest' : (part as Algorithm)
}

describe.each(mutations)('$part', ({ part, on, of, changes }) => {
  test.each(changes)('%s => %s', async (from, to) => {
    expect(parts[part].split(from)).toHaveLength(2)
    const text = assemble({ [part]: parts[part].replace(from, to) })
    const seen = async (name: Name) => {
      const rule = [...carryRules, 'retune' as const].find((each) => each === name)
      const policies = rule === undefined ? policiesOf(name as Parameters<typeof policiesOf>[0]) : plansOf(of)
      const property = fc.asyncProperty<[Policy[] | Policy[][], Script]>(policies, scripts, (all, script) =>
        compare(redisSubject(client, text), all, script, rule),
      )
      return (await fc.check(property, { numRuns: 1000, seed: 7, endOnFailure: true })).failed
    }
    let failed = false
    for (const name of on) failed ||= await seen(name)
    expect(failed).toBe(true)
  })
})
