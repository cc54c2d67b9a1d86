/*
 * The differential test has to notice one changed token in any function of the Lua script, else it proves little. Each
 * mutation names the text that it changes, which must occur once in its part; line breaks and indentation do not matter.
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
/** A piece of the text of a part, and its replacement. */
type Mutation = readonly [from: string, to: string]

interface Mutations {
  part: Part
  /** Random scripts that notice the mutation: of these policies, or of plans under these carry rules. */
  on: readonly Name[]
  /** The only algorithm of those plans. */
  of?: Algorithm | undefined
  changes: readonly Mutation[]
}

const mutations: readonly Mutations[] = [
  {
    part: 'bucket',
    on: ['bucket'],
    changes: [
      ['level - elapsed', 'level + elapsed'],
      ['elapsed <= 0', 'elapsed <= 1'],
      ['drain, burst * weight', 'drain, burst + weight'],
      ['cost > p.burst and never', 'cost >= p.burst and never'],
      ['if excess <= 0', 'if excess >= 0'],
      ['or ceil(excess', 'or floor(excess'],
      ['s[2] = levelAt(p, s, at) + cost', 's[2] = levelAt(p, s, at) - cost'],
      ['p.capacity, level + cost', 'p.capacity, level - cost'],
      ['s[2] = max(level, filled)', 's[2] = min(level, filled)'],
      ['max(0, at - since)', 'min(0, at - since)'],
      ['s[3] - given', 's[3] + given'],
      ['s[2] = level - back', 's[2] = level + back'],
      ['return s[1], s[2], s[3]', 'return s[1], s[2], s[1]'],
      ['floor(unused / p.weight)', 'ceil(unused / p.weight)'],
      ['ceil(level / p.drain)', 'floor(level / p.drain)'],
    ],
  },
  {
    part: 'intervalBucket',
    on: ['interval', 'clockWindow', 'firstRequest'],
    changes: [
      ['if at < last then', 'if at > last then'],
      ['start - (last - at)', 'start + (last - at)'],
      ['elapsed < p.window', 'elapsed <= p.window'],
      ['spent - (elapsed', 'spent + (elapsed'],
      ['ceil((spent + cost - p.burst)', 'floor((spent + cost - p.burst)'],
      ['max(spent, refills', 'min(spent, refills'],
      ['return p.aligned and at - at % p.window or at end', 'return at end'],
      ['cost > p.burst and never', 'cost >= p.burst and never'],
      ['if short <= 0', 'if short < 0'],
      ['start + ceil(short', 'start + floor(short'],
      ['s[2] = spentAfter(p, spent, cost, delay)', 's[2] = spentAfter(p, spent, cost, 0)'],
      [
        'spent > 0 and start or opensAt(p, at) s[1] = at end function opensAt',
        'spent >= 0 and start or opensAt(p, at) s[1] = at end function opensAt',
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
      ['or at - at % p.span', 'or at + at % p.span'],
      ['start <= s[2]', 'start < s[2]'],
      ['return elapsed == p.span', 'return elapsed >= p.span'],
      ['p.span - mulDiv(p.span', 'p.span + mulDiv(p.span'],
      ['spare >= previous and 0', 'spare >= 0 and 0'],
      ['at - start, p.span) then return 0', 'at, p.span) then return 0'],
      ['if spare >= 0', 'if spare > 0'],
      ['if spare < -current', 'if spare > -current'],
      ['s[3] = s[3] + cost', 's[3] = s[3] - cost'],
      ['s[4] = previousAt', 's[4] = currentAt'],
      ['maxFactor - currentAt', 'currentAt'],
      ['age <= 0 and', 'age < 0 and'],
      ['further = age == 1', 'further = age ~= 1'],
      ['s[4] - (cost', 's[4] + (cost'],
      ['return s[2], 0, 0', 'return s[1], 0, 0'],
      ['toNextWindow + p.span or', 'toNextWindow or'],
      ['(previous - faded)', '(previous + faded)'],
    ],
  },
  {
    part: 'segmentedWindow',
    on: ['segmentedWindow'],
    changes: [
      ['return at < s[1] and 0', 'return at > s[1] and 0'],
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
      ['firstAfter(s, at + aheadAt(s, at) - p.span)', 'firstAfter(s, at + aheadAt(s, at) + p.span)'],
      ['if timeOf(s, middle) > time', 'if timeOf(s, middle) >= time'],
      ['timeOf(s, n) - sooner', 'timeOf(s, n) + sooner'],
      ['s[4] = totalOf(s, first - 1)', 's[4] = totalOf(s, first)'],
      ['total = totalOf(s, last - 1) + cost', 'total = totalOf(s, last - 1) - cost'],
      ['newest >= time then', 'newest > time then'],
      ['low - s.base) % s.times', 'low - s.base)'],
      ['s[3] = last + 1', 's[3] = last'],
      ['s[3] = s[3] - 1', 's[3] = s[3] - 2'],
      ['cost - p.limit local first', 'cost - p.limit + 1 local first'],
      ['if totalOf(s, middle) >= total', 'if totalOf(s, middle) > total'],
      ['max(queued, timeOf', 'min(queued, timeOf'],
      ['append(s, at + delay', 'append(s, at - delay'],
      ['min(cost, p.limit), 0)', 'max(cost, p.limit), 0)'],
      ['totalOf(s, first) <= spare', 'totalOf(s, first) < spare'],
      ['timeOf(s, entry) > since', 'timeOf(s, entry) >= since'],
      ['timeOf(s, entry) ~= since', 'timeOf(s, entry) == since'],
      ['return timeOf(s, s[3] - 1), 0, 0', 'return timeOf(s, s[2]), 0, 0'],
      ['newest > now and 0', 'newest < now and 0'],
      ['newest + p.span - now', 'newest - p.span + now'],
    ],
  },
  {
    part: 'smooth',
    on: ['smoothBursty', 'smoothWarmingUp'],
    changes: [
      ['ceil(number) or floor(number)', 'ceil(number) or ceil(number)'],
      ['ahead > p.rollbackTolerance and ahead', 'ahead >= 0 and ahead'],
      ['s[2] - aheadAt', 's[2] + aheadAt'],
      ['min(p.max, stored + (at', 'max(p.max, stored + (at'],
      ['(at - free) / p.coolDown)', '(at - free) * p.coolDown)'],
      ['min(cost, stored)', 'max(cost, stored)'],
      ['(cost - spent) * p.stable', '(cost + spent) * p.stable'],
      ['s[3] = stored - spent', 's[3] = stored'],
      ['s[7] = cost', 's[7] = 0'],
      ['if free <= at then return end', 'if free >= at then return end'],
      ['max(at, free - back)', 'max(at, free)'],
      ['min(cost, p.max - stored)', 'cost'],
      ['max(stable, dearest)', 'min(stable, dearest) / 2'],
      ['max(rollbackTolerance, ceil', 'min(rollbackTolerance, ceil'],
      ['cost > p.most then return never', 'cost >= p.most then return never'],
      ['return max(0, freeAt(p, s, at) - at) end', 'return max(1, freeAt(p, s, at) - at) end'],
      ['<= 2 * longest', '<= longest'],
      ['cost == 0 and', 'cost == 1 and'],
      ['s[1] = ahead > 0 and at or max', 's[1] = ahead > 0 and at or min'],
      ['s[4] = s[4] + 1 s[5] = max', 's[4] = s[4] + 2 s[5] = max'],
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
    part: 'evaluation',
    on: ['several', 'firstRequest', 'slidingLog', 'bucket'],
    changes: [
      ['last - now < p.span', 'last - now <= p.span'],
      ['if only then return false', 'if only then return true'],
      ['not only.promises', 'only.promises'],
      ['wait = wait + (at - now)', 'wait = wait'],
      ['wait > delay and not p.shadow', 'wait > delay and p.shadow'],
      ['delay <= maxWait', 'delay >= maxWait'],
      ['if reset > 0 and', 'if reset >= 0 and'],
      ['cost, spread(tickets[n]))', 'cost)'],
      ['cost, wait - lag)', 'cost, wait)'],
      ['elseif p.countRefused and', 'elseif not p.countRefused and'],
      ['cost), lag) end', 'cost), 0) end'],
      ['elseif at < s[1]', 'elseif at > s[1]'],
      ['remaining, reset + (at - now)', 'remaining, reset'],
      ['if takes and not waits', 'if takes'],
      ['remaining + 1) + (p.at', 'remaining) + (p.at'],
      ['if p.wait == 0 then', 'if p.wait ~= 0 then'],
    ],
  },
  {
    part: 'records',
    on: ['bucket', 'keep', 'several'],
    changes: [
      ['head == p.shortHead then s[p.slots] = 0', 'head == p.shortHead then'],
      ['if s[slots] ~= 0 then', 'if s[slots] > 5 then'],
      ['s.oldRecord, s.expires, s.carried = record', "s.oldRecord, s.expires, s.carried = ''"],
      ['if s.oldRecord then return s.oldRecord end', ''],
      ['not p.retunes', 'false'],
    ],
  },
  {
    part: 'states',
    on: ['bucket', 'keep', 'several'],
    changes: [
      ['if loadedBy[key] then unload(loadedBy[key]) end', ''],
      ['written[key] = false', ''],
    ],
  },
  {
    part: 'penalty',
    on: ['punished'],
    changes: [
      ['max(0, s[1] - at)', 'min(0, s[1] - at)'],
      ['s[5] - aheadAt(s, at) - at)', 's[5] + aheadAt(s, at) - at)'],
      ['s[2] = max(0, s[2] - ahead)', 's[2] = max(0, s[2])'],
      ['s[5] = max(0, s[5] - ahead)', 's[5] = max(0, s[5])'],
      ['if since < 0 then', 'if since <= 0 then'],
      ['since >= p.forget', 'since > p.forget'],
      ['at - s[2] >= p.within', 'at - s[2] > p.within'],
      ['s[3] = s[3] + 1', 's[3] = s[3] + 2'],
      ['s[3] >= p.after', 's[3] > p.after'],
      ['p.blocks[min(blocks + 1, #p.blocks)]', 'p.blocks[1]'],
      ['s[4] = min(blocks + 1, #p.blocks)', 's[4] = blocks + 1'],
      ['s[2] + p.within or 0', 's[2] - p.within or 0'],
      ['s[5] + p.forget or 0', 's[5] - p.forget or 0'],
      ['s[5] > now and 0', 's[5] >= now and 0'],
    ],
  },
  {
    part: 'carry',
    on: ['keep', 'scale', 'reset'],
    changes: [
      ['p.resets or', 'not p.resets or'],
      ['effectiveTime(from, s[1], now)', 'effectiveTime(p, s[1], now)'],
      ['if p.scales then', 'if not p.scales then'],
      ['times, per = most, whole', 'times, per = whole, most'],
      ['min(most, ratioUp', 'max(most, ratioUp'],
      ['if used > 0 then', 'if used > 1 then'],
    ],
  },
  ...[
    ['bucket', 'min(p.capacity, ratioUp(level, p.weight', 'min(p.capacity, ratioUp(level, 1 + p.weight'],
    ['bucket', 'ratioUp(levelAt(from, s, at)', 'ratioUp(levelAt(p, s, at)'],
    ['bucket', 's[3] + ceil(from.capacity / p.weight)', 's[3]'],
    ['bucket', 'booked == 0 and 0 or', ''],
    ['bucket', 'p.capacity + booked * p.drain', 'booked * p.drain'],
    ['bucket', 'max(units, ahead)', 'units'],
    ['intervalBucket', 'max(0, p.limit - from.limit)', '0'],
    ['intervalBucket', 'spentAt(from, s, start) local booked', 'spentAt(p, s, start) local booked'],
    ['intervalBucket', 'from.window == p.window and', ''],
    ['intervalBucket', 'and from.aligned == p.aligned', ''],
    ['intervalBucket', 'min(p.burst, ratioUp(spentAt(from', 'min(p.burst, ratioUp(spentAt(p'],
    ['intervalBucket', 's[4] + from.burst', 's[4]'],
    ['slidingWindow', 'or from.span ~= p.span', ''],
    ['slidingWindow', 's[4] = min(p.limit, ratioUp(s[4]', 's[4] = min(p.limit, ratioUp(s[3]'],
    ['slidingWindow', 's[3] = min(p.limit, ratioUp(s[3]', 's[3] = max(p.limit, ratioUp(s[3]'],
    ['segmentedWindow', 'from.span ~= p.span or', ''],
    ['segmentedWindow', 'or from.segments ~= p.segments', ''],
    ['segmentedWindow', 'left = left - s[3 + n]', ''],
    ['slidingLog', 'or from.span ~= p.span', ''],
    ['slidingLog', 'ratioUp(totalOf(s, n) - before', 'ratioUp(totalOf(s, n)'],
    ['smooth', 'if from.kind ~= p.kind then return false end', ''],
    ['smooth', 'restart(s, at, max(free, at)', 'restart(s, at, min(free, at)'],
    ['smooth', 'rescaled(p, storedAt(from', 'rescaled(p, storedAt(p'],
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

/** The algorithm of the plans; undefined if the mutation shows only with two different ones. */
function algorithmOf(part: Part, from: string): Algorithm | undefined {
  if (part === 'smooth' || from.includes('aligned')) return undefined
  return part === 'intervalBucket' ? 'firstRequest' : (part as Algorithm)
}

/** The script with one piece of a part changed. */
function mutant(part: Part, from: string, to: string): string {
  const lines = (text: string) => text.replace(/^\s*(--.*)?\n/gm, '').replace(/\s+/g, ' ')
  const pieces = lines(parts[part]).split(from)
  if (pieces.length !== 2) throw new Error(`${part} has ${pieces.length - 1} times ${from}: update this mutation`)
  return assemble({ [part]: `${pieces.join(to)}\n` })
}

describe.each(mutations)('$part', ({ part, on, of, changes }) => {
  test.each(changes)(
    'the differential test notices: %s => %s',
    async (from, to) => {
      const text = mutant(part, from, to)
      const noticed = async (name: Name) => {
        const rule = [...carryRules, 'retune' as const].find((each) => each === name)
        const policies = rule === undefined ? policiesOf(name as Parameters<typeof policiesOf>[0]) : plansOf(of)
        const property = fc.asyncProperty<[Policy[] | Policy[][], Script]>(policies, scripts, (all, script) =>
          compare(redisSubject(client, text), all, script, rule),
        )
        return (await fc.check(property, { numRuns: 1000, seed: 7, endOnFailure: true })).failed
      }
      let failed = false
      for (const name of on) failed ||= await noticed(name)
      expect(failed).toBe(true)
    },
    300_000,
  )
})
