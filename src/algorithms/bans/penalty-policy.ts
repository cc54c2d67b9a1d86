import {
  anything,
  check,
  type Duration,
  duration,
  flag,
  HeadgateError,
  invalidOption,
  oneOf,
  optional,
  readOptions,
  text,
  warnOfSeconds,
  whole,
} from '../../common/index.ts'
import type { Policy } from '../algorithm.ts'
import { makePolicy } from '../define-policy.ts'
import { Penalty, unlimited } from './penalty.ts'
import { SpentPenalty } from './spent-penalty.ts'

/** The options of a penalty, which bans a key after many of its calls were refused, or when its quota is spent. */
export interface PenaltyOptions {
  /**
   * What begins a ban. With `'refused'`, a ban begins after `after` refusals within `within`. With `'spent'`, a ban begins with the call
   * that takes the last unit of a policy with the penalty's scope. Units that a reservation can still give back do not count as taken. So
   * with `count: 'failures'`, the failure that spends the quota begins the ban. Default `'refused'`. Example: `{ on: 'spent', ban: '1h' }`.
   */
  on?: 'refused' | 'spent' | undefined
  /** How many refusals of a key within `within` begin a ban, such as 10. Required unless `on` is `'spent'`. */
  after?: number | undefined
  /**
   * The time in which the refusals are counted, such as `'1m'`. This time starts with the first refusal that is counted. Required
   * unless `on` is `'spent'`.
   */
  within?: Duration | undefined
  /**
   * How long a key is banned: `['1m', '10m']` means 1 minute the first time, and 10 minutes every later time. Required
   * unless `until` is given.
   */
  ban?: Duration | readonly Duration[] | undefined
  /**
   * `'window'`, in place of `ban`: a ban ends when the other policies would admit the refused call. Under a fixed window, a ban ends
   * when the window ends. A call whose cost is too high ever to be admitted begins no ban.
   */
  until?: 'window' | undefined
  /**
   * If a key is banned again within this time after its last ban, the next duration in `ban` applies. Default: the longest duration in
   * `ban`.
   */
  forget?: Duration | undefined
  /** True if each call that is refused during a ban starts the duration of that ban again. Default false. */
  extend?: boolean | undefined
  /**
   * True if the start of a ban resets the other policies of the key (except units of unfinished calls). The key then has its full quota when
   * the ban ends. Default false: units used before the ban stay used. With `on: 'spent'`, a policy that would have its full quota at the end
   * of the ban is always reset, so that this policy does not refuse the key after `unban`.
   */
  restart?: boolean | undefined
  /** Which key of a call is banned: the key of this scope, such as `'user'`. Default: the scope of the limiter's first policy. */
  scope?: string | undefined
  /** The name of the penalty in decisions. Default `'penalty'`. */
  name?: string | undefined
  /** The HTTP status of the response to a request of a banned key. Default 429. */
  status?: 403 | 429 | undefined
}

/** The options that cannot be combined with `until: 'window'`. */
const untimed = ['ban', 'forget', 'extend', 'restart'] as const
/** The options that cannot be combined with `on: 'spent'`. */
const uncounted = ['after', 'within', 'until'] as const

const code = 'HEADGATE_PENALTY'
const banTime = duration(undefined, { code })
const readers = {
  on: oneOf('refused', 'spent'),
  after: refusals,
  within: duration(undefined, { code }),
  ban: anything,
  until: optional(check((given) => given === 'window', "'window'", "'window'", undefined, code)),
  forget: optional(duration(undefined, { code })),
  extend: flag(),
  restart: flag(),
  scope: optional(text(undefined, 'HEADGATE_SCOPE')),
  name: text('penalty', 'HEADGATE_NAME'),
  status: check((given) => given === 403 || given === 429, '403 or 429', '429', 429, code),
}

const countOf = whole(undefined, { code })

function refusals(given: unknown, name: string): number {
  if (given !== undefined) return countOf(given, name)
  const fix = "Write after: 10, within: '1m'. For a ban when the quota is spent, write on: 'spent'."
  throw invalidOption(name, 'the number of refusals', given, fix, code)
}

const spentReaders = { ...readers, after: anything, within: anything }

/**
 * Makes the policy that bans a key after the other policies have refused the key's calls many times, or when the quota of a policy is
 * spent. Users do not call this function: they give a limiter the option `penalty`.
 * @param longest the longest span of the policies with the penalty's scope, in microseconds; only for `on: 'spent'`
 * @throws HeadgateError `HEADGATE_PENALTY` for a number or a duration out of range; another code for an unknown option, or an invalid name
 *   or scope
 */
export function penalty(options: PenaltyOptions, scope: string, shadow: boolean, longest = 1_000_000): Policy {
  const spent = options?.on === 'spent'
  const { name, ...read } = readOptions('penalty', options, spent ? spentReaders : readers)
  if (spent)
    exclude(options, "on: 'spent'", uncounted, 'the other policies say how many units are spent, and in which time')
  if (read.until !== undefined) exclude(options, "until: 'window'", untimed, 'such a ban has no duration of its own')
  const list = read.until === undefined ? durationsOf(options) : []
  const bans = list.map((ban) => banTime(ban, 'penalty: ban') * 1000)
  const forget = read.forget === undefined ? Math.max(0, ...bans) : read.forget * 1000
  if (!spent) warnOfSeconds(options.within as Duration, 'penalty: within')
  for (const ban of list) warnOfSeconds(ban, 'penalty: ban')
  const algorithm = spent
    ? new SpentPenalty(longest, forget, bans, read)
    : new Penalty(read.after as number, (read.within as number) * 1000, forget, bans, read)
  const { after, within } = algorithm
  const settings = {
    ...{ name, label: name, scope: read.scope ?? scope, limit: after, window: Math.ceil(within / 1000) },
    ...{ burst: unlimited, countRefused: !spent || algorithm.countsAlways, shadow },
  }
  const policy: Policy = makePolicy(settings, algorithm, () => policy)
  return policy
}

function durationsOf({ ban }: PenaltyOptions): readonly Duration[] {
  const list = Array.isArray(ban) ? (ban as readonly Duration[]) : [ban as Duration]
  if (ban !== undefined && list.length >= 1 && list.length <= 20) return list
  const fix = "Write ban: ['1m', '10m', '1h'], or until: 'window'."
  throw invalidOption('penalty: ban', '1 to 20 durations', ban, fix, code)
}

/** @throws HeadgateError `HEADGATE_PENALTY` if one of the options is given together with `other` */
function exclude(
  options: PenaltyOptions,
  other: string,
  without: readonly (keyof PenaltyOptions)[],
  why: string,
): void {
  const misfit = without.find((option) => options[option] !== undefined)
  if (misfit === undefined) return
  throw new HeadgateError(
    'HEADGATE_PENALTY',
    `penalty: ${other} and ${misfit} exclude each other. Leave one of them out: ${why}.`,
  )
}
