/*
 * The differential test has to notice one changed token in any function of the Lua script, else it proves little. Each
 * mutation names the text that it changes, which must occur once in its part; line breaks and indentation do not matter.
 */

import { describe, expect, test } from 'vitest'
import { carryRules, type StateRule } from '../../../src/algorithms/carry.ts'
import type { Policy } from '../../../src/index.ts'
import { assemble, type Part, parts } from '../../../src/stores/redis/lua/script.ts'
import { Script as LuaScript } from '../../../src/stores/redis/script.ts'
import { type algorithms, compare, plansOf, policiesOf, type Script, scripts } from '../../support/differential.ts'
import fc from '../../support/fast-check.ts'
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
    part: 'exactMath',
    on: ['bucket'],
    changes: [
      ['elapsed <= 0 then return level', 'elapsed <= 1000 then return level'],
      ['level - (elapsed', 'level + (elapsed'],
    ],
  },
  {
    part: 'bookings',
    on: ['bucket', 'interval', 'clockWindow', 'keep'],
    changes: [
      ['b[size - 1] > at and', 'b[size - 1] >= at and 1 +'],
      ['if b[k] > at then break end', 'if b[k] >= at then break end'],
      ['level = found + ticks', 'level = found'],
      ['if b[k] > at then ticks', 'if b[k] < at then ticks'],
      ['b[first - 1] >= found', 'b[first - 1] > found + 1'],
      ['if count > maxSteps', 'if count > 1'],
      ['b[k] <= since', 'b[k] < since'],
      ['b[later + 1] - back', 'b[later + 1]'],
      ['min(b[earlier + 1], lowest)', 'b[earlier + 1]'],
      ['b[k + 1] < at do', 'b[k + 1] <= at do'],
      ['b[k + 2] = b[k + 2] - ticks', 'b[k + 2] = b[k + 2] + ticks'],
      ['ticks = ticks - taken', 'ticks = 0'],
      ['b[k] - ahead, b[k + 1] - ahead', 'b[k], b[k + 1]'],
      ['before == 0 and firstBooking', 'firstBooking'],
    ],
  },
  {
    part: 'bucket',
    on: ['bucket'],
    changes: [
      ['level - (p.capacity - cost * p.weight)', 'level - (p.capacity + cost * p.weight)'],
      ['rate, 1, burst * weight', 'rate, 1, burst + weight'],
      ['cost > p.burst and never', 'cost >= p.burst and never'],
      ['if excess <= 0', 'if excess >= 0'],
      ['or ceil(excess', 'or floor(excess'],
      ['if s[3] ~= 0 or delay > 0 then return', 'if delay > 0 then return'],
      ['s[2] = drained(p, s[2], at - s[1]) + cost', 's[2] = drained(p, s[2], at - s[1]) - cost'],
      ['0, ceil(level / p.rate), ceil(level / p.weight)', '0, ceil(level / p.rate)'],
      ['floor(unused / p.weight), ceil(level / p.rate)', 'ceil(unused / p.weight), ceil(level / p.rate)'],
      ['from - now + excessWait', 'excessWait'],
      ['s[3] = -1', 's[3] = 0'],
      ['else void(s, last - at) end', 'end'],
      ['if at > last then close(s) end', ''],
      ['p.capacity, level + cost', 'p.capacity, level - cost'],
      ['if s[3] ~= 0 and filled > level', 'if filled < level'],
      ['s[2] = max(level, filled)', 's[2] = min(level, filled)'],
      ['s[2] = max(0, level - rest)', 's[2] = level - rest'],
      ['return at + delay', 'return at'],
      ['if since > at then', 'if since >= at then'],
      ['+ last - now, used', ', used'],
    ],
  },
  {
    part: 'intervalBucket',
    on: ['interval', 'clockWindow', 'firstRequest'],
    changes: [
      ['if at < last then', 'if at > last then'],
      ['start - (last - at)', 'start + (last - at)'],
      ['elapsed < p.per', 'elapsed <= p.per'],
      ['return p.aligned and at - at % p.per or at end', 'return at end'],
      ['cost > p.capacity and never', 'cost >= p.capacity and never'],
      ['if short <= 0', 'if short < 0'],
      ['toStart + ceil(short', 'toStart + floor(short'],
      ['s[2] = spent + cost s[3]', 's[2] = spent s[3]'],
      ['spent > 0 and start or opensAt', 'spent >= 0 and start or opensAt'],
      ['max(0, p.capacity - spent), spent == 0', 'max(0, p.capacity - spent), spent == 1'],
      ['later == 0 and 0 or start', 'start'],
      ['at + delay, cost)', 'at, cost)'],
      ['s[4] = -1', 's[4] = 0'],
      ['else void(s, from - start) end', 'end'],
      ['elseif spent == 0 then', 'elseif spent > 0 then'],
      ['bookings.arrive(s, start, spent)', ''],
      ['min(p.capacity, spent + cost)', 'max(p.capacity, spent + cost)'],
      ['delay > 0 and at + delay or s[3]', 's[3]'],
      ['if since > start then', 'if since >= start then'],
      ['later > 0 and 0 or remaining', 'remaining'],
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
      ['if at < s[1] then s[5] = 0 end', ''],
      ['s[3] = s[3] + cost', 's[3] = s[3] - cost'],
      ['s[4] = previousAt', 's[4] = currentAt'],
      ['maxFactor - currentAt', 'currentAt'],
      ['s[4] - (cost', 's[4] + (cost'],
      ['return s[2] end', 'return s[1] end'],
      ['if age == 0', 'if age == 1'],
      ['max(0, s[4] - units)', 's[4]'],
      ['toNextWindow + p.span or', 'toNextWindow or'],
      ['local used = current + (previous - faded)', 'local used = current + (previous + faded)'],
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
      ['if at < s[1] then s[p.idSlot] = 0 end', ''],
      ['n >= age and', 'n > age and'],
      ['s[3] = s[3] + cost', 's[3] = s[3] - cost'],
      ['s[2] = floor(at', 's[2] = ceil(at'],
      ['max(0, min(cost, spare))', 'min(0, spare)'],
      ['s[3 + n] - back', 's[3 + n] + back'],
      ['cost = cost - back', 'cost = cost + back'],
      ['return s[2] end', 'return s[1] end'],
      ['local n = s[2] - since', 'local n = since - s[2]'],
      ['max(0, s[3 + n] - units)', 'max(0, s[3 + n] + units)'],
      ['s[3 + newest] == 0', 's[3 + newest] == 1'],
    ],
  },
  {
    part: 'slidingLog',
    on: ['slidingLog', 'concurrency'],
    changes: [
      ['max(0, s[1] - at)', 'min(0, s[1] - at)'],
      ['firstAfter(s, at + aheadAt(s, at) - p.span)', 'firstAfter(s, at + aheadAt(s, at) + p.span)'],
      ['if timeOf(s, middle) > time', 'if timeOf(s, middle) >= time'],
      ['timeOf(s, n) - sooner', 'timeOf(s, n) + sooner'],
      ['s[4] = totalOf(s, first - 1)', 's[4] = totalOf(s, first)'],
      ['total = totalOf(s, last - 1) + cost', 'total = totalOf(s, last - 1) - cost'],
      ['if newest == time then last', 'if newest < time then last'],
      ['totalOf(s, entry - 1) + cost', 'totalOf(s, entry - 1)'],
      ['low - s.base) % s.times', 'low - s.base)'],
      ['s[3] = s[3] - 1', 's[3] = s[3] - 2'],
      ['cost - p.limit local first', 'cost - p.limit + 1 local first'],
      ['if totalOf(s, middle) >= total', 'if totalOf(s, middle) > total'],
      ['max(queued, timeOf', 'min(queued, timeOf'],
      ['append(s, at + delay', 'append(s, at - delay'],
      ['shift(s, ahead) s[5] = 0', 'shift(s, ahead)'],
      ['min(cost, p.limit), 0)', 'max(cost, p.limit), 0)'],
      ['totalOf(s, first) <= spare', 'totalOf(s, first) < spare'],
      ['return at + delay end', 'return delay end'],
      ['if entry >= 0 then removeUnits', 'if entry > 0 then removeUnits'],
      ['firstAfter(s, time - 1) return', 'firstAfter(s, time) return'],
      ['timeOf(s, entry) == time', 'timeOf(s, entry) ~= time'],
      ['newest > now and not p.leases', 'newest < now and not p.leases'],
      ['newest + p.span - now', 'newest - p.span + now'],
      ['% sizes[form] == 7 then', '% sizes[form] == 8 then'],
    ],
  },
  {
    part: 'slidingLog',
    on: ['concurrency'],
    changes: [
      ['if entry < firstAt(p, s, at) then return 0', 'if entry > firstAt(p, s, at) then return 0'],
      ['return min(whole, totalOf(s, entry)', 'return max(whole, totalOf(s, entry)'],
    ],
  },
  {
    part: 'smooth',
    on: ['smoothBursty', 'smoothWarmingUp'],
    changes: [
      ['ceil(number) or floor(number)', 'ceil(number) or ceil(number)'],
      ['ahead >= p.rollback and ahead', 'ahead >= 0 and ahead'],
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
      ['max(clockSkew, ceil', 'min(clockSkew, ceil'],
      ['cost > p.most then return never', 'cost >= p.most then return never'],
      ['return max(0, freeAt(p, s, at) - at) end', 'return max(1, freeAt(p, s, at) - at) end'],
      ['<= 2 * longest', '<= longest'],
      ['cost == 0 and', 'cost == 1 and'],
      ['s[1] = ahead > 0 and at or max', 's[1] = ahead > 0 and at or min'],
      ['s[4] = s[4] + 1 s[5] = max', 's[4] = s[4] + 2 s[5] = max'],
      ['s[5] = max(free, at)', 's[5] = min(free, at)'],
      ['if smooth.fits(p, s, at, cost) then', 'if not smooth.fits(p, s, at, cost) then'],
      ['if commit == s[4]', 'if commit ~= s[4]'],
      ['max(0, taken - cost)', 'taken'],
      ['if cost >= taken', 'if cost > taken'],
      ['max(1, s[4] - 1)', 'max(1, s[4])'],
      ['return s[4] end', 'return s[1] end'],
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
    on: ['several', 'firstRequest', 'slidingLog', 'bucket', 'concurrency'],
    changes: [
      ['last - now < p.tolerance', 'last - now <= p.tolerance'],
      ['if only then return false', 'if only then return true'],
      ['not p.promises', 'p.promises'],
      ['not p.shadow and cost > 0 and', 'not p.shadow and'],
      ['wait = wait + (at - now)', 'wait = wait'],
      ['not p.shadow then delay = wait end end p.at', 'p.shadow then delay = wait end end p.at'],
      ['delay <= maxWait', 'delay >= maxWait'],
      ['p.delay = wait - lag', 'p.delay = wait'],
      ['if s[from.idSlot] <= 0 then', 'if s[from.idSlot] == 0 then'],
      ['used ~= p.burst - remaining', 'false'],
      ['cost, wait - lag)', 'cost, wait)'],
      ['elseif p.countRefused and cost > 0', 'elseif not p.countRefused and cost > 0'],
      ['algorithm.wait(p, s, at, cost), lag) elseif', 'algorithm.wait(p, s, at, cost), 0) elseif'],
      ['elseif at < s[1]', 'elseif at > s[1]'],
      ['reply[size] = reset + (at - now)', 'reply[size] = reset'],
      ['if takes and not waits', 'if takes'],
      ['remaining + 1) + (p.at', 'remaining) + (p.at'],
      ['if p.wait > 0 or cost == 0 or', 'if p.wait == 0 or cost == 0 or'],
    ],
  },
  {
    part: 'verbs',
    on: ['several', 'bucket', 'concurrency'],
    changes: [
      ['if reset == 0 or cost == 0 then return end', ''],
      ['at, -cost, ticket.since', 'at, cost, ticket.since'],
      ['s[p.idSlot] == ticket.id', 's[p.idSlot] ~= ticket.id'],
      ['still >= cost', 'still > cost'],
      ['cost - still', 'cost'],
      ['if cost == 0 then return end p.algorithm', 'p.algorithm'],
    ],
  },
  {
    part: 'records',
    on: ['bucket', 'keep', 'several'],
    changes: [
      ['head == p.shortHead then s[p.slots] = 0', 'head == p.shortHead then'],
      ['if s[slots] ~= 0 then', 'if s[slots] > 5 then'],
      ['s.expires, s.carried = record', "s.expires, s.carried = ''"],
      ['not (foreign and foreign.wrote)', 'true'],
      ['lasting and foreign', 'foreign'],
      ['if s.more then copy.more', 'if false then copy.more'],
      ['if s.more then s.more = nil end', ''],
      ['if count > p.slots then s.more', 'if false then s.more'],
      ['lasting and not p.retunes', 'false'],
    ],
  },
  {
    part: 'states',
    on: ['bucket', 'keep', 'several'],
    changes: [
      ['if loadedBy[key] then unload(loadedBy[key]) end', ''],
      ['nil, nil, false, nil', 'nil, nil, nil, nil'],
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
      ['at - s[2] >= p.within', 'at - s[2] > p.within'],
      ['s[3] = s[3] + 1', 's[3] = s[3] + 2'],
      ['s[3] >= p.after', 's[3] > p.after'],
      ['p.blocks[min(blocks + 1, #p.blocks)]', 'p.blocks[1]'],
      ['s[4] = atMost(p, blocks + 1)', 's[4] = blocks + 1'],
      ['if duration == never then return end', 'if duration == never then duration = 0 end'],
      ['#p.blocks == 0 p.longest', 'false p.longest'],
      ['s[2] + p.within or 0', 's[2] - p.within or 0'],
      ['s[5] + p.forget or 0', 's[5] - p.forget or 0'],
      ['s[5] > now and 0', 's[5] >= now and 0'],
      ['if p.extends then', 'if not p.extends then'],
      ['rules % restartRule == 1', 'rules % restartRule == 0'],
      ['rules >= restartRule', 'rules < restartRule'],
      ['max(s[5], at + p.blocks[s[4]])', 'at + p.blocks[1]'],
      ['p.blocks[s[4]]) s[1] = at', 'p.blocks[s[4]])'],
      ['if s[3] == 0 and s[5] <= at then return end s[1]', 's[1]'],
      ['s[1], s[3], s[5] = at, 0', 's[1], s[3], s[5] = at, s[3]'],
      ['at, 0, min(s[5], at)', 'at, 0, s[5]'],
    ],
  },
  {
    part: 'evaluation',
    on: ['punished'],
    changes: [
      ['or last.shadow then', 'then'],
      ['cost, delay - lag)', 'cost, delay)'],
      ['if free and last.wait > 0 then restart', 'if last.wait > 0 then restart'],
      ['if p.scope == penalty.scope and', 'if'],
      ['penalty.scope and not p.punishes', 'penalty.scope'],
      ['and not p.leases then if costs', 'then if costs'],
      ['p.s, p.at = newState(p), now', 'p.s, p.at = newState(p), p.at'],
      ['p.wait = cost == 0 and 0 or p.algorithm.wait(p, p.s, now, cost)', 'p.wait = 0'],
    ],
  },
  {
    part: 'blocks',
    on: ['bucket', 'punished', 'several'],
    changes: [
      ['maxSafe or now + duration', 'maxSafe or duration'],
      ['local duration = block.till - block.from', 'local duration = block.till'],
      ['if block.till <= now then return nil', 'if block.till < now then return nil'],
      ['new(now, now + duration, block.reason)', 'new(now, block.till, block.reason)'],
      ['scope.block.till + lingering <= now', 'scope.block.till <= now'],
      ['block.till > longest.till', 'block.till < longest.till'],
      ['if byte(definition) == blockKind then return end', ''],
      ['if not block and from.punishes', 'if block and from.punishes'],
      ['kept = kept .. record', 'kept = record'],
      ['kept = kept .. block.record', 'kept = block.record'],
    ],
  },
  {
    part: 'carry',
    on: ['keep', 'scale', 'reset'],
    changes: [
      ['(p.resets and not kept) or', 'not p.resets or'],
      ['effectiveTime(from, s[1], now)', 'effectiveTime(p, s[1], now)'],
      ['if p.scales and not kept then', 'if not p.scales then'],
      ['times, per = most, whole', 'times, per = whole, most'],
      ['min(most, ratioUp', 'max(most, ratioUp'],
      ['if used > 0 then', 'if used > 1 then'],
    ],
  },
  ...[
    ['bucket', 'ratioUp(s[2], p.weight, from.weight)', 'ratioUp(s[2], 1 + p.weight, from.weight)'],
    ['bucket', 'ratioUp(level, p.weight, from.weight)', 'ratioUp(level, 1 + p.weight, from.weight)'],
    ['bucket', 'local level = ratioUp(s[2], times, per)', 'local level = s[2]'],
    ['bucket', 's[2] = min(p.capacity, ticks)', 's[2] = max(p.capacity, ticks)'],
    ['bucket', 'if times ~= per or ticks > p.capacity then void', 'if times == per then void'],
    ['intervalBucket', 'from.per == p.per and', ''],
    ['intervalBucket', 'and from.aligned == p.aligned', ''],
    ['intervalBucket', 's[2] = min(p.capacity, spent)', 's[2] = max(p.capacity, spent)'],
    ['intervalBucket', 'if times ~= per or spent > p.capacity then void', 'if times == per then void'],
    ['slidingWindow', 'or from.span ~= p.span', ''],
    ['slidingWindow', 'local previous = ratioUp(s[4]', 'local previous = ratioUp(s[3]'],
    ['slidingWindow', 's[3] = min(p.limit, current)', 's[3] = max(p.limit, current)'],
    ['slidingWindow', 'ratioDown(p.limit - s[3], p.span, left)', 'p.limit'],
    ['slidingWindow', 'if times ~= per then s[5] = 0 end', ''],
    ['segmentedWindow', 'from.span ~= p.span or', ''],
    ['segmentedWindow', 'or from.segments ~= p.segments', ''],
    ['segmentedWindow', 'left = left - s[3 + n]', ''],
    ['slidingLog', 'or from.span ~= p.span', ''],
    ['slidingLog', 'ratioUp(totalOf(s, n) - before', 'ratioUp(totalOf(s, n)'],
    ['slidingLog', 'if times ~= per then s[5] = 0 end', ''],
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

/** A part as one line. */
function lineOf(part: Part): string {
  return parts[part].replace(/^\s*(--.*)?\n/gm, '').replace(/\s+/g, ' ')
}

/** The script with one piece of a part changed. */
function mutant(part: Part, from: string, to: string): string {
  return assemble({ [part]: `${lineOf(part).split(from).join(to)}\n` })
}

test('each mutation changes a text that its part has once', () => {
  const wrong = mutations.flatMap(({ part, changes }) => {
    return changes.filter(([from]) => lineOf(part).split(from).length !== 2).map(([from]) => `${part}: ${from}`)
  })
  expect(wrong).toEqual([])
})

describe.each(mutations)('$part', ({ part, on, of, changes }) => {
  test.each(changes)(
    'the differential test notices: %s => %s',
    async (from, to) => {
      const text = mutant(part, from, to)
      const noticed = async (name: Name, numRuns: number) => {
        const rule = [...carryRules, 'retune' as const].find((each) => each === name)
        const policies = rule === undefined ? policiesOf(name as Parameters<typeof policiesOf>[0]) : plansOf(of)
        const property = fc.asyncProperty<[Policy[] | Policy[][], Script]>(policies, scripts, (all, script) =>
          compare(
            redisSubject(client, { whole: new LuaScript(text), changePlain: (plain) => plain }),
            all,
            script,
            rule,
          ),
        )
        return (await fc.check(property, { numRuns, seed: 7, endOnFailure: true })).failed
      }
      let failed = false
      // Few mutations show only in a rare script.
      for (const runs of [1000, 20_000]) {
        for (const name of on) failed ||= await noticed(name, runs)
      }
      expect(failed).toBe(true)
    },
    300_000,
  )
})
