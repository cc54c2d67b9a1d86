/*
 * The one script. It takes the keys of a batch of questions (each key once), and two packed arguments: the policies,
 * and the questions. It reads every key in one MGET, answers the questions in order over the unpacked states, and
 * writes what changed at the end.
 *
 * Policies (see ../terms.ts): for each set of terms "<HH" policies, scopes; for each policy "<HBBdB" scope, kind, flags,
 * burst, how many numbers define it; these as doubles; and as "Hc0" texts how its records begin and are packed.
 * Questions: "<Bd" whether it is still wanted, the TTL margin in ms; for each "<HBddHHB" terms, verb and flags, time in
 * microseconds (-1: Redis TIME), cost, key, how many more like it follow at once and by how much the number of their key
 * grows each time; "<H" a key for each further scope; a reservation's maxWait; a refund's tickets; a lease's units.
 */

import { bucket } from './bucket.ts'
import { carry } from './carry.ts'
import { frame } from './evaluation.ts'
import { exact } from './exact-math.ts'
import { intervalBucket } from './interval-bucket.ts'
import { leases } from './leases.ts'
import { penalty } from './penalty.ts'
import { segmentedWindow } from './segmented-window.ts'
import { slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'
import { smooth } from './smooth.ts'
import { smoothBursty } from './smooth-bursty.ts'
import { smoothWarmingUp } from './smooth-warming-up.ts'
import { states } from './states.ts'

/** The algorithms by the number that stands for them on the wire, counted from 1. */
export const kinds: readonly string[] = [
  'bucket',
  'intervalBucket',
  'slidingWindow',
  'segmentedWindow',
  'slidingLog',
  'smoothBursty',
  'smoothWarmingUp',
  'penalty',
]

const main = `
local kinds = { ${kinds.map((kind) => `'${kind}'`).join(', ')} }

-- Makes the policy one of that kind; false if there is none.
local function define(p, kind, ...)
  local name = kinds[kind]
  if not name then return false end
  local algorithm = make(name)
  p.kind, p.algorithm = name, algorithm
  algorithm.define(p, ...)
  if not algorithm.number then p.grain = max(1000000, floor(p.span / 16)) end
  return p
end
revive = define

local function readPolicy(at)
  local scope, kind, flags, burst, count, head
  local longHead, longFormat, shortHead, shortFormat
  scope, kind, flags, burst, count, head, longHead, longFormat, shortHead, shortFormat, at =
    unpack('<HBBdBHc0Hc0Hc0Hc0Hc0', ARGV[1], at)
  local p = {
    burst = burst, head = head, s = false, at = 0, wait = 0, own = false, first = false,
    countRefused = flags % 2 == 1, shadow = flags % 4 >= 2, promises = flags % 8 >= 4,
    scales = flags % 16 >= 8, forgets = flags % 32 >= 16, retunes = flags >= 32,
    longHead = longHead, longFormat = longFormat, shortHead = shortHead, shortFormat = shortFormat,
  }
  local numbers = { unpack('<' .. rep('d', count), ARGV[1], at) }
  define(p, kind, spread(numbers, 1, count))
  -- A small state lies in the same place whatever the key.
  if p.slots <= 4 and not p.grows then
    p.room, p.longSize, p.shortSize = { 0, 0, 0, 0, 0 }, #longHead + 7 * p.slots, #shortHead + 7 * p.slots - 7
  end
  return p, scope, at + 8 * count
end

local function readTerms()
  local all, at, length = {}, 1, #ARGV[1]
  while at <= length do
    local step, policies = { own = {} }
    policies, step.scopes, at = unpack('<HH', ARGV[1], at)
    for scope = 1, step.scopes do
      -- The policies of one scope: the key that they hold, whether they changed it, and when it is like new.
      step.own[scope] = { key = false, changed = false, provisional = false, others = nil, likeNew = 0 }
    end
    for n = 1, policies do
      local p, scope
      p, scope, at = readPolicy(at)
      local own = step.own[scope]
      own[#own + 1], step[n], p.own, p.first = p, p, own, #own == 0
    end
    all[#all + 1] = step
  end
  return all
end

local questions = ARGV[2]
if byte(questions) == 0 then return redis.error_reply('HEADGATE the answer is no longer wanted') end
margin = unpack('<d', questions, 2) * 1000
local all = readTerms()
read = call('MGET', spread(KEYS))
if #all > 1 then heldBy = {} end
local serverTime

local function timeNow()
  if not serverTime then
    local time = call('TIME')
    serverTime = time[1] * 1000000 + time[2]
  end
  return serverTime
end

local at, length = 10, #questions
local t, what, step, key, stride
local more = 0
while more > 0 or at <= length do
  local maxWait, tickets, units
  if more > 0 then
    more, key = more - 1, key + stride
  else
    t, what, now, cost, key, more, stride, at = unpack('<HBddHHB', questions, at)
    step, verb = all[t], what % 8
    if now < 0 then now = timeNow() end
  end
  for scope = 1, step.scopes do
    local own, id = step.own[scope], key
    if scope > 1 then id, at = unpack('<H', questions, at) end
    if verb == reset then
      forget(own, id)
    elseif own.key ~= id or own.provisional then
      hold(own, id, now)
    end
  end
  if verb == reset then
    answer(1)
  else
    maxWait = 0
    if verb == reserve then
      maxWait, at = unpack('<d', questions, at)
      make('reserve')
    end
    weigh(step, maxWait)
    if verb == refund then
      make('refund')
      if what % 128 >= 64 then tickets, at = readTickets(step, at) end
      giveBack(step, tickets)
      if what >= 128 then punish(step) end
    end
    settle(step, what % 16 >= 8 or (what % 32 >= 16 and not allowed))
    if verb == reserve and allowed then answerTickets(step) end
    if what % 64 >= 32 then
      units, at = unpack('<d', questions, at)
      make('lease')
      lease(step, units)
    end
  end
end

for _, step in ipairs(all) do
  for _, own in ipairs(step.own) do
    if own.key then release(own) end
  end
end
for n = 1, #KEYS do save(n, KEYS[n], now) end
reply[1] = serverTime or -1
return reply
end)()
`

export type Part =
  | 'exact'
  | 'states'
  | 'frame'
  | 'carry'
  | 'leases'
  | 'bucket'
  | 'intervalBucket'
  | 'slidingWindow'
  | 'segmentedWindow'
  | 'slidingLog'
  | 'smooth'
  | 'smoothBursty'
  | 'smoothWarmingUp'
  | 'penalty'
  | 'main'

/** The parts by name: the algorithms are each a restated step. */
export const parts: Readonly<Record<Part, string>> = {
  exact,
  states,
  frame,
  carry,
  leases,
  bucket,
  intervalBucket,
  slidingWindow,
  segmentedWindow,
  slidingLog,
  smooth,
  smoothBursty,
  smoothWarmingUp,
  penalty,
  main,
}

/** The parts in the order of their use. Comments and indents stay here: the server need not keep them. */
export function assemble(text: Readonly<Partial<Record<Part, string>>>): string {
  return Object.values({ ...parts, ...text })
    .join('')
    .replace(/^\s*(--.*)?\n/gm, '')
    .replace(/^ +/gm, '')
}

export const script: string = assemble(parts)
