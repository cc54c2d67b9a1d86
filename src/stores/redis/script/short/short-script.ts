/*
 * The short script of one plan (set of policies), for the most frequent calls: `consume` with one cost, on keys of one scope whose states
 * have no reservations. The short script is code without functions, which contains the numbers of the policies. The short script reads and
 * writes the same values as the whole script (for all calls). For any other key, the whole script runs, which follows in the same text.
 *
 * Arguments: `0` to do nothing, `1`, or `2` if responses have to say when `remaining` grows; the cost; the time in
 * microseconds, empty for Redis TIME; for policies with a calendar, the starts of their windows as doubles, once if all keys have the same
 * starts, or else for each key; then, for each key with several calls, the number of the key and how many calls it has. The reply has the
 * format of the whole script, key by key: the time; then for each call 2 (allowed) or 0 (refused) and the numbers of each policy; or 5 if
 * headgate cannot read the value of the key.
 */
import type { Algorithm, Kind, Policy } from '../../../../algorithms/index.ts'
import { cacheableFlag, nextFlag } from '../evaluate-policies.ts'
import { compact, script } from '../script.ts'
import { bucket } from './bucket.ts'
import { calendarWindow } from './calendar-window.ts'
import { decideCalls } from './calls.ts'
import { intervalBucket } from './interval-bucket.ts'
import { penalty } from './penalty.ts'
import { freshState, headsOf, recordsOf, type ShortPolicy } from './short-records.ts'
import { largestShortLog, slidingLog } from './sliding-log.ts'
import { slidingWindow } from './sliding-window.ts'
import { type ShortSteps, stepOf } from './step.ts'

const steps: Readonly<Partial<Record<Kind, ShortSteps<never>>>> = {
  bucket,
  intervalBucket,
  slidingWindow,
  slidingLog,
  calendarWindow,
  penalty,
}

/** The most policies of a short script (for the frequent calls), because a Lua function can have at most about 200 local variables. */
const mostPolicies = 4

/** The input from which the short script of a plan (set of policies) is made. */
export interface ShortTerms {
  readonly policies: readonly Policy[]
  /** The first bytes of each policy's stored state, in the only form that a short script reads (see ../records.ts). */
  readonly heads: readonly Buffer[]
  /** The packed policies, for the whole script (for every kind of call), which decides the calls that the short script cannot decide. */
  readonly bytes: Buffer
  /** For how many milliseconds Redis stores a key after the key has its full quota again. */
  readonly ttlMargin: number
  /** True if the response to a refused call has to say when `remaining` grows. */
  readonly cacheable: boolean
}

/** True if a short script (for the frequent calls) can be made for these policies. */
export function hasShortScript(policies: readonly Policy[], scopes: readonly string[]): boolean {
  return scopes.length === 1 && policies.length <= mostPolicies && policies.every(isShortPolicy)
}

function isShortPolicy({ algorithm, limit, countRefused, shadow }: Policy, n: number, all: readonly Policy[]): boolean {
  if (!(algorithm.kind in steps) || shadow || limit === 0 || algorithm.spends) return false
  if (algorithm.grows) return n === 0 && !countRefused && limit <= largestShortLog
  if (!algorithm.punishes) return true
  const others = all.slice(0, -1)
  return n > 0 && n === others.length && !(algorithm.restarts && others.some((other) => other.countRefused))
}

/** The short script of a plan (set of policies), then `whole`, the whole script, for the calls that the short script cannot decide. */
export function shortScript(terms: ShortTerms, whole: string = script): string {
  const parts = terms.policies.map((policy, index): ShortPolicy => {
    const n = index + 1
    const head = terms.heads[index] as Buffer
    const step = steps[policy.algorithm.kind] as ShortSteps<Algorithm>
    return { n, policy, head, step: stepOf(step, n, policy.algorithm, head.length) }
  })
  return `${compact(bodyOf(parts, terms))}${whole}`
}

function bodyOf(parts: readonly ShortPolicy[], { ttlMargin, cacheable, bytes }: ShortTerms): string {
  const { names, check, read, pack } = recordsOf(parts)
  const margin = ttlMargin * 1000
  const grain = grainOf(parts)
  const calendars = parts.filter(({ step }) => step.windows !== undefined)
  const width = 32 * calendars.length
  const ofKey = `#ARGV[4] == ${width} and 1 or (key - 1) * ${width} + 1`
  const round = (ends: string): string => (grain === undefined ? ends : `ceil((${ends}) / ${grain}) * ${grain}`)
  return `
do
local floor, ceil, never, call = math.floor, math.ceil, math.huge, redis.call
local pack, unpack, spread = struct.pack, struct.unpack, unpack
local maxSafe = 9007199254740991
local form = ARGV[1]
if form == '0' then return redis.error_reply('HEADGATE the connection broke before Redis answered') end
local cost, now, serverTime = tonumber(ARGV[2]) or 1, tonumber(ARGV[3]), -1
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  serverTime = now
end
local repeats
for n = ${calendars.length === 0 ? 4 : 5}, #ARGV, 2 do
  repeats = repeats or {}
  repeats[tonumber(ARGV[n])] = tonumber(ARGV[n + 1])
end
${[...new Set(parts.map(({ step }) => step.prelude))].join('')}
${headsOf(parts)
  .map(([name, head]) => `local ${name} = ${quoted(head)}`)
  .join('\n')}
local ${[...names, ...calendars.flatMap(({ step }) => step.windows ?? [])].join(', ')}
local values = call('MGET', spread(KEYS))

local plain = true
for key = 1, #KEYS do
  local value = values[key]
  if value then
    ${check}
    if not plain then break end
  end
end

if plain then
  local reply, size = { serverTime, ${numbersOfReply(parts)} }, 1
  local lastLife, lifeText, remaining, reset, used
  for key = 1, #KEYS do
    local value, readEnd = values[key], nil
    if value then
      if #KEYS > 1 then
        ${read}
      end
      ${grain === undefined ? '' : `${parts[0]?.step.reset}\nreadEnd = ${round(`last1 + reset + ${margin}`)}`}
    else
      ${parts.map(freshState).join('\n')}
    end
    local calls = repeats and repeats[key] or 1
    local before, written, fullAt = size, false, 0
    ${calendars.length === 0 ? decideCalls(parts, cacheable) : withWindows(calendars, ofKey, decideCalls(parts, cacheable))}
    if written then
      ${pack}
      local ends = ${round(`fullAt + ${margin}`)}
      if ends == readEnd and #text == #value then
        call('SETRANGE', KEYS[key], '0', text)
      else
        local life = ceil((ends - now) / 1000)
        if life ~= lastLife then lastLife, lifeText = life, string.format('%d', life) end
        if value then
          call('SET', KEYS[key], text, 'PX', lifeText)
        elseif not call('SET', KEYS[key], text, 'PX', lifeText, 'NX') then
          -- MGET returns no value for a key that is not a string, and this SET has written nothing. So the calls get response 5.
          for n = size, before + 1, -1 do reply[n] = nil end
          for n = 1, calls do reply[before + n] = 5 end
          size = before + calls
        end
      end
    end
  end
  do return reply end
end

-- Packs the calls as requests for the whole script, which follows.
local requests = { pack('<Bd', 49, ${ttlMargin}) }
for key = 1, #KEYS do
  local calls = repeats and repeats[key] or 1
  local flags = form == '2' and ${nextFlag + (cacheable ? cacheableFlag : 0)} or ${cacheable ? cacheableFlag : 0}
  local request = pack('<HBddH', 1, flags, tonumber(ARGV[3]) or -1, cost, key)
  ${calendars.length === 0 ? '' : `local from = ${ofKey}\n  request = request .. string.sub(ARGV[4], from, from + ${width - 1})`}
  requests[key + 1] = string.rep(request, calls)
end
ARGV[1], ARGV[2] = table.concat(requests), ${quoted(bytes)}
end
`
}

/** Lua code that reads the windows of a key and decides its calls. If the time is in none of the windows, the calls get response 7. */
function withWindows(calendars: readonly ShortPolicy[], ofKey: string, decide: string): string {
  const reads = calendars.map(
    ({ step }, n) => `${step.windows?.join(', ')} = unpack('<dddd', ARGV[4], from + ${32 * n})`,
  )
  const outside = calendars.map(({ n }) => `now < before${n} or now >= final${n}`)
  return `
local from = ${ofKey}
${reads.join('\n')}
if ${outside.join(' or ')} then
  for _ = 1, calls do
    size = size + 2
    reply[size - 1], reply[size] = 7, now
  end
  calls = 0
end
${decide}
`
}

/** A `nil` for each number of the reply to one call, so that Lua allocates the table once and need not grow it. */
function numbersOfReply(parts: readonly ShortPolicy[]): string {
  return new Array(1 + 3 * parts.length).fill('nil').join(', ')
}

/**
 * A key's expiry time is rounded up to a multiple of this number of microseconds, so that most calls need not set the expiry again.
 * Undefined if there are several policies.
 */
function grainOf([first, ...more]: readonly ShortPolicy[]): number | undefined {
  return first === undefined || more.length > 0
    ? undefined
    : Math.max(1_000_000, Math.floor(first.policy.algorithm.span / 16))
}

/** A Lua string literal that contains these bytes. */
function quoted(bytes: Buffer): string {
  return `'${Array.from(bytes, (byte) => `\\${byte.toString().padStart(3, '0')}`).join('')}'`
}
