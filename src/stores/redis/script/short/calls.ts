import { thresholdsOf } from '../../../../algorithms/index.ts'
import { largest } from '../evaluate-policies.ts'
import { freshState, type ShortPolicy } from './short-records.ts'
import { waitFor } from './step.ts'

/**
 * Lua code that decides the calls of one key, and replies in the same format as the script that can decide every request. The
 * code sets `written` to true if the value of the key has to be written, and sets `fullAt` to the time at which the key has
 * its full quota.
 */
export function decideCalls(parts: readonly ShortPolicy[], cacheable: boolean): string {
  const each = (write: (part: ShortPolicy) => string): string => parts.map(write).join('\n')
  const unchanged = unchangedBy(parts)
  const last = parts.at(-1) as ShortPolicy
  const { restarts, endsWithWindow } = last.policy.algorithm
  return `
${unchanged.keep === '' ? '' : `local ${unchanged.keep}`}
${each(({ n, step }) => `local at${n} = now < last${n} and last${n} or now\n${step.advance}`)}
for _ = 1, calls do
${each((part) => `local ${wait(part)}`)}
  local allowed = ${parts.map(({ n }) => `wait${n} == 0`).join(' and ')}
  size = size + 1
  if allowed then
    reply[size] = 2
    written = true
    ${unchanged.take}
${each(({ step }) => step.take)}
  else
    reply[size] = 0
    ${endsWithWindow ? `local delay = math.max(${parts.map(({ n }) => `wait${n}`).join(', ')})` : ''}
    ${restarts ? `local free = wait${last.n} == 0` : ''}
${each(count)}
    ${restarts ? `if free and wait${last.n} > 0 then\n${restart(parts.slice(0, -1), unchanged.keep)}\nend` : ''}
  end
  fullAt = 0
${each((part) => respond(part, cacheable))}
end
${unchanged.restore}
`
}

function wait({ n, step }: ShortPolicy): string {
  return `wait${n} = ${step.wait}\nif wait${n} > 0 then wait${n} = wait${n} + (at${n} - now) end`
}

/**
 * Lua code for a refused call that changes only the states of policies with `countRefused`. The states of the other policies
 * are then written as they were before the batch, unless a call of the batch was admitted.
 */
function unchangedBy(parts: readonly ShortPolicy[]): {
  readonly keep: string
  readonly take: string
  readonly restore: string
} {
  const all = parts.filter(({ policy }) => !policy.countRefused).flatMap(({ step }) => step.state)
  if (all.length === 0 || parts.every(({ policy }) => !policy.countRefused)) return { keep: '', take: '', restore: '' }
  const before = all.map((name) => `${name}Before`).join(', ')
  const names = all.join(', ')
  return {
    keep: `taken, ${before} = false, ${names}`,
    take: 'taken = true',
    restore: `if not taken then ${names} = ${before} end`,
  }
}

function count(part: ShortPolicy): string {
  const { policy, step } = part
  if (!policy.countRefused) return ''
  const counted = `${step.count}\n${wait(part)}\nwritten = true\n`
  return step.counts === undefined ? counted : `if ${step.counts} then\n${counted}end\n`
}

/**
 * The Lua version of `restart` in algorithms/evaluation: resets the policies of the key when a ban starts.
 * @param keep Lua code that saves the new states, so that a later refusal returns to these states
 */
function restart(parts: readonly ShortPolicy[], keep: string): string {
  const renewed = parts.map((part) => `at${part.n} = now\n${part.step.advance}\n${wait(part)}`)
  return [...parts.map(freshState), keep, ...renewed].join('\n')
}

/** Lua code that adds the numbers of a policy to the reply, in the same format as the script that can decide every request. */
function respond(part: ShortPolicy, cacheable: boolean): string {
  const { n, policy, step } = part
  const { burst } = policy
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
${tell(part)}
if form == '2'${cacheable ? ' or not allowed' : ''} then
  size = size + 1
  reply[size] = remaining >= ${burst} and 0 or (${waitFor(step, '(remaining + 1)')}) + (at${n} - now)
end
`
}

/**
 * Lua code that adds to the reply how many thresholds of the policy this call reaches, and notes in the state that these thresholds were
 * reported.
 */
function tell({ n, policy }: ShortPolicy): string {
  const thresholds = thresholdsOf(policy)
  if (thresholds.length === 0) return ''
  const each = thresholds.map(
    ({ part, units }) => `if told${n} < ${part} and used >= ${units} then told${n}, reached = ${part}, reached + 1 end`,
  )
  return `
local reached = 0
if allowed then
${each.join('\n')}
end
size = size + 1
reply[size] = reached
`
}

/** Lua code that turns a large number into a text, because clients may round large integers. */
function readable(number: string): string {
  return `${number} > ${largest} and string.format('%.0f', ${number}) or ${number}`
}
