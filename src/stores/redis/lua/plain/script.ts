/*
 * The script of one plan, for the calls that are most: `consume` with one cost, on keys of one scope whose states have no
 * reservations. It is straight-line code with the numbers of the policies in it, and it reads and writes the same values as
 * the whole script. If a key is in any other form, it goes on with the whole script, which is behind it.
 *
 * Arguments: `0` if the response is no longer wanted, `1`, or `2` if the responses tell when `remaining` grows; the cost; the
 * time in microseconds, empty for Redis TIME; then pairs: the number of a key, and how many calls it has, if these are
 * several. The reply is that of the whole script, key by key: after the time, for each call 2, or 0 for a refusal, and
 * the numbers of each policy; or 5 if the value of the key is broken.
 */
import type { Algorithm, Policy } from '../../../../algorithms/algorithm.ts'
import { cacheableFlag, nextFlag } from '../../request-flags.ts'
import { largest } from '../evaluation.ts'
import { compact, script } from '../script.ts'
import { bucketStep } from './bucket.ts'
import { intervalBucketStep } from './interval-bucket.ts'
import { slidingWindowStep } from './sliding-window.ts'
import type { MakeStep, PlainStep } from './step.ts'

const makers: Readonly<Record<string, MakeStep<never>>> = {
  bucket: bucketStep,
  intervalBucket: intervalBucketStep,
  slidingWindow: slidingWindowStep,
}

/** Lua has places for some 200 names. */
const mostPolicies = 4

/** What the script of a plan is made of. */
export interface PlainTerms {
  readonly policies: readonly Policy[]
  /** How the record of each policy begins if its last number is 0, which is left out (see ../records.ts). */
  readonly heads: readonly Buffer[]
  /** The plan as the whole script reads it. */
  readonly bytes: Buffer
  /** In milliseconds. */
  readonly ttlMargin: number
  /** True if a refusal tells when `remaining` grows. */
  readonly cacheable: boolean
}

/** True if a plain script can decide these policies. */
export function isPlain(policies: readonly Policy[], scopes: readonly string[]): boolean {
  return (
    scopes.length === 1 &&
    policies.length <= mostPolicies &&
    policies.every(({ algorithm, shadow }) => algorithm.kind in makers && !shadow)
  )
}

/** @param whole the whole script */
export function plainScript(terms: PlainTerms, whole: string = script): string {
  const policies = terms.policies.map((policy, index): Part => {
    const n = index + 1
    const make = makers[policy.algorithm.kind] as MakeStep<Algorithm>
    return { n, policy, head: terms.heads[index] as Buffer, step: make(n, policy.algorithm) }
  })
  return `${compact(bodyOf(policies, terms))}${whole}`
}

/** One policy of the script. */
interface Part {
  readonly n: number
  readonly policy: Policy
  readonly head: Buffer
  readonly step: PlainStep
}

function bodyOf(parts: readonly Part[], { ttlMargin, cacheable, bytes }: PlainTerms): string {
  const each = (write: (part: Part) => string): string => parts.map(write).join('\n')
  const join = (write: (part: Part) => string): string => parts.map(write).join(' and ')
  const format = `<${parts.map(({ head, step }) => `c${head.length}${'i7'.repeat(step.state.length)}`).join('')}`
  const length = parts.reduce((sum, { head, step }) => sum + head.length + 7 * step.state.length, 0)
  const margin = ttlMargin * 1000
  const grain = grainOf(parts)
  const unchanged = unchangedBy(parts)
  return `
do
local floor, ceil, never, call = math.floor, math.ceil, math.huge, redis.call
local pack, unpack, spread = struct.pack, struct.unpack, unpack
local maxSafe = 9007199254740991
local form = ARGV[1]
if form == '0' then return redis.error_reply('HEADGATE the response is no longer wanted') end
local cost, now, serverTime = tonumber(ARGV[2]) or 1, tonumber(ARGV[3]), -1
if not now then
  local time = call('TIME')
  now = time[1] * 1000000 + time[2]
  serverTime = now
end
local repeats
for n = 4, #ARGV, 2 do
  repeats = repeats or {}
  repeats[tonumber(ARGV[n])] = tonumber(ARGV[n + 1])
end
${[...new Set(parts.map(({ step }) => step.prelude))].join('')}
${each(({ n, head }) => `local begin${n} = ${quoted(head)}`)}
local ${parts.map(({ n, step }) => `head${n}, ${step.state.join(', ')}`).join(', ')}
local values = call('MGET', spread(KEYS))

local plain = true
for key = 1, #KEYS do
  local value = values[key]
  if value then
    plain = #value == ${length}
    if plain then
      ${parts.map(({ n, step }) => `head${n}, ${step.state.join(', ')}`).join(', ')} = unpack('${format}', value)
      plain = ${join(({ n, policy: { algorithm } }) => `head${n} == begin${n} and last${n} - now < ${algorithm.tolerance}`)}
    end
    if not plain then break end
  end
end

if plain then
  local reply, size = { serverTime, nil, nil, nil }, 1
  local lastLife, lifeText, remaining, reset, used
  for key = 1, #KEYS do
    local value, readEnd = values[key], nil
    if value then
      if #KEYS > 1 then
        ${parts.map(({ n, step }) => `head${n}, ${step.state.join(', ')}`).join(', ')} = unpack('${format}', value)
      end
      ${grain === undefined ? '' : `${parts[0]?.step.reset}\nreadEnd = ceil((last1 + reset + ${margin}) / ${grain}) * ${grain}`}
    else
${each(({ step: { state } }) => `${state.join(', ')} = ${state.map(() => '0').join(', ')}`)}
    end
    local calls = repeats and repeats[key] or 1
    local before, written, fullAt = size, false, 0
    ${unchanged.keep}
${each(({ n, step }) => `local at${n} = now < last${n} and last${n} or now\n${step.advance}`)}
    for _ = 1, calls do
${each((part) => `local ${wait(part)}`)}
      local allowed = ${join(({ n }) => `wait${n} == 0`)}
      size = size + 1
      if allowed then
        reply[size] = 2
        written = true
        ${unchanged.take}
${each(({ step }) => step.take)}
      else
        reply[size] = 0
${parts.map(count).join('')}
      end
      fullAt = 0
${each((part) => respond(part, cacheable))}
    end
    if written then
      ${unchanged.restore}
      local text = pack('${format}', ${parts.map(({ n, step }) => `begin${n}, ${step.state.join(', ')}`).join(', ')})
      local ends = ${grain === undefined ? `fullAt + ${margin}` : `ceil((fullAt + ${margin}) / ${grain}) * ${grain}`}
      if ends == readEnd then
        call('SETRANGE', KEYS[key], '0', text)
      else
        local life = ceil((ends - now) / 1000)
        if life ~= lastLife then lastLife, lifeText = life, string.format('%d', life) end
        if value then
          call('SET', KEYS[key], text, 'PX', lifeText)
        elseif not call('SET', KEYS[key], text, 'PX', lifeText, 'NX') then
          -- MGET reads nothing from a value of another type. Nothing was written.
          for n = size, before + 1, -1 do reply[n] = nil end
          for n = 1, calls do reply[before + n] = 5 end
          size = before + calls
        end
      end
    end
  end
  do return reply end
end

-- The same calls for the whole script.
local requests = { pack('<Bd', 1, ${ttlMargin}) }
for key = 1, #KEYS do
  local calls = repeats and repeats[key] or 1
  requests[key + 1] = pack('<HBddHHB', 1, form == '2' and ${nextFlag + (cacheable ? cacheableFlag : 0)} or ${cacheable ? cacheableFlag : 0}, tonumber(ARGV[3]) or -1, cost, key, calls - 1, 0)
end
ARGV[1], ARGV[2] = ${quoted(bytes)}, table.concat(requests)
end
`
}

/** What the end of a value is rounded up to, so that most calls need not set it again: with one policy, as ../states.ts has it. */
function grainOf([first, ...more]: readonly Part[]): number | undefined {
  return first === undefined || more.length > 0
    ? undefined
    : Math.max(1_000_000, Math.floor(first.policy.algorithm.span / 16))
}

function wait({ n, step }: Part): string {
  return `wait${n} = ${step.wait('cost')}\nif wait${n} > 0 then wait${n} = wait${n} + (at${n} - now) end`
}

/**
 * If a refusal changes some of the policies, the value is written. The others are then written as they were, unless a call of
 * the batch was taken.
 */
function unchangedBy(parts: readonly Part[]): {
  readonly keep: string
  readonly take: string
  readonly restore: string
} {
  const all = parts.filter(({ policy }) => !policy.countRefused).flatMap(({ step }) => step.state)
  if (all.length === 0 || parts.every(({ policy }) => !policy.countRefused)) return { keep: '', take: '', restore: '' }
  const before = all.map((name) => `${name}Before`).join(', ')
  const names = all.join(', ')
  return {
    keep: `local taken, ${before} = false, ${names}`,
    take: 'taken = true',
    restore: `if not taken then ${names} = ${before} end`,
  }
}

function count(part: Part): string {
  return part.policy.countRefused ? `${part.step.count}\n${wait(part)}\nwritten = true\n` : ''
}

/** Responds with the numbers of a policy, as the whole script does. */
function respond({ n, policy: { burst }, step }: Part, cacheable: boolean): string {
  return `
if not allowed then
  size = size + 1
  reply[size] = wait${n} == never and -1 or wait${n}
end
${step.report}
if at${n} + reset > fullAt then fullAt = at${n} + reset end
size = size + 1
if used ~= ${burst} - remaining then
  reply[size] = -remaining - 1
  size = size + 1
  reply[size] = ${readable('used')}
else
  reply[size] = ${burst > largest ? readable('remaining') : 'remaining'}
end
size = size + 1
reply[size] = reset + (at${n} - now)
if form == '2'${cacheable ? ' or not allowed' : ''} then
  size = size + 1
  reply[size] = remaining >= ${burst} and 0 or ${step.wait('(remaining + 1)')} + (at${n} - now)
end
`
}

/** A large number goes as text, as in the whole script. */
function readable(number: string): string {
  return `${number} > ${largest} and string.format('%.0f', ${number}) or ${number}`
}

/** A text of Lua with these bytes. */
function quoted(bytes: Buffer): string {
  return `'${Array.from(bytes, (byte) => `\\${byte.toString().padStart(3, '0')}`).join('')}'`
}
