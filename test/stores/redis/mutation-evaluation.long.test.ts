import type { ScriptPart } from '../../../src/stores/redis/script/script.ts'
import { type Algorithm, type Mutations, testMutations } from '../../support/mutations.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

const mutations: readonly Mutations[] = [
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
      ['p.bans[min(bans + 1, #p.bans)]', 'p.bans[1]'],
      ['s[4] = atMost(p, bans + 1)', 's[4] = bans + 1'],
      ['if duration == never then return end', 'if duration == never then duration = 0 end'],
      ['#p.bans == 0 p.longest', 'false p.longest'],
      ['s[2] + p.within or 0', 's[2] - p.within or 0'],
      ['s[5] + p.forget or 0', 's[5] - p.forget or 0'],
      ['s[5] > now and 0', 's[5] >= now and 0'],
      ['if p.extends then', 'if not p.extends then'],
      ['rules % restartRule == 1', 'rules % restartRule == 0'],
      ['rules >= restartRule', 'rules < restartRule'],
      ['max(s[5], at + p.bans[s[4]])', 'at + p.bans[1]'],
      ['p.bans[s[4]]) s[1] = at', 'p.bans[s[4]])'],
      ['if s[3] == 0 and s[5] <= at then return end s[1]', 's[1]'],
      ['s[1], s[3], s[5] = at, 0', 's[1], s[3], s[5] = at, s[3]'],
      ['at, 0, min(s[5], at)', 'at, 0, s[5]'],
    ],
  },
  {
    part: 'penalty',
    on: ['keep'],
    changes: [['s[5] = min(s[5], at + p.longest)', '']],
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
    part: 'bans',
    on: ['bucket', 'punished', 'several'],
    changes: [
      ['maxSafe or now + duration', 'maxSafe or duration'],
      ['local duration = ban.till - ban.from', 'local duration = ban.till'],
      ['if ban.till <= now then return nil', 'if ban.till < now then return nil'],
      ['new(now, now + duration, ban.reason)', 'new(now, ban.till, ban.reason)'],
      ['scope.ban.till + lingering <= now', 'scope.ban.till <= now'],
      ['ban.till > longest.till', 'ban.till < longest.till'],
      ['if byte(definition) == banKind then return end', ''],
      ['if not ban and from.punishes', 'if ban and from.punishes'],
      ['kept = kept .. record', 'kept = record'],
      ['kept = kept .. ban.record', 'kept = ban.record'],
    ],
  },
  {
    part: 'carry',
    on: ['keep', 'scale'],
    changes: [
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
      part: part as ScriptPart,
      on: part === 'intervalBucket' || part === 'bucket' ? ['keep', 'scale', 'retune'] : ['keep', 'scale'],
      of: algorithmOf(part as ScriptPart, from as string),
      changes: [[from as string, to as string]],
    }),
  ),
]

/** The algorithm of the plans; undefined if the mutation shows only with two different ones. */
function algorithmOf(part: ScriptPart, from: string): Algorithm | undefined {
  if (part === 'smooth' || from.includes('aligned')) return undefined
  return part === 'intervalBucket' ? 'firstRequest' : (part as Algorithm)
}

testMutations(client, mutations)
