import {
  anything,
  check,
  type Duration,
  duration,
  flag,
  HeadgateError,
  invalidOption,
  optional,
  readOptions,
  text,
  warnOfSeconds,
  whole,
} from '../../common/index.ts'
import type { Policy } from '../algorithm.ts'
import { makePolicy } from '../define-policy.ts'
import { Penalty, unlimited } from './penalty.ts'

/** The options of a penalty, which bans a key after many of its calls were refused. */
export interface PenaltyOptions {
  /** How many refusals of a key within `within` begin a ban, such as 10. */
  after: number
  /** The time in which the refusals are counted, such as `'1m'`. This time starts with the first refusal that is counted. */
  within: Duration
  /**
   * How long a key is banned: `['1m', '10m']` means 1 minute the first time, and 10 minutes every later time. Required
   * unless `until` is given.
   */
  ban?: Duration | readonly Duration[]
  /**
   * `'window'`, in place of `ban`: a ban ends when the other policies would admit the refused call. Under a fixed window, a ban ends
   * when the window ends. A call whose cost is too high ever to be admitted begins no ban.
   */
  until?: 'window'
  /**
   * If a key is banned again within this time after its last ban, the next duration in `ban` applies. Default: the longest duration in
   * `ban`.
   */
  forget?: Duration
  /** True if each call that is refused during a ban starts the duration of that ban again. Default false. */
  extend?: boolean
  /**
   * True if the start of a ban resets the other policies of the key (except units of unfinished calls), so that the key has its full quota
   * when the ban ends. Default false: units used before the ban stay used.
   */
  restart?: boolean
  /** Which key of a call is banned: the key of this scope, such as `'user'`. Default: the scope of the limiter's first policy. */
  scope?: string
  /** The name of the penalty in decisions. Default `'penalty'`. */
  name?: string
  /** The HTTP status of the response to a request of a banned key. Default 429. */
  status?: 403 | 429
}

/** The options that cannot be given together with `until: 'window'`. */
const untimed = ['forget', 'extend', 'restart'] as const

const code = 'HEADGATE_PENALTY'
const banTime = duration(undefined, { code })
const readers = {
  after: whole(undefined, { code }),
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

/**
 * A policy that bans a key after the other policies have refused the key's calls many times. Users do not call this
 * function: they give a limiter the option `penalty`.
 * @throws HeadgateError `HEADGATE_PENALTY` for a number or a duration out of range; another code for an unknown option, or an invalid name
 *   or scope
 */
export function penalty(options: PenaltyOptions, scope: string, shadow: boolean): Policy {
  const { after, within, name, ...read } = readOptions('penalty', options, readers)
  const list = read.until === undefined ? durationsOf(options) : noDurations(options)
  const bans = list.map((ban) => banTime(ban, 'penalty: ban'))
  const forget = read.forget ?? Math.max(0, ...bans)
  warnOfSeconds(options.within, 'penalty: within')
  for (const ban of list) warnOfSeconds(ban, 'penalty: ban')
  const settings = {
    name,
    label: name,
    scope: read.scope ?? scope,
    limit: after,
    window: within,
    burst: unlimited,
    countRefused: true,
    shadow,
  }
  const micros = bans.map((ban) => ban * 1000)
  const algorithm = new Penalty(after, within * 1000, forget * 1000, micros, read)
  const policy: Policy = makePolicy(settings, algorithm, () => policy)
  return policy
}

function durationsOf({ ban }: PenaltyOptions): readonly Duration[] {
  const list = Array.isArray(ban) ? (ban as readonly Duration[]) : [ban as Duration]
  if (ban !== undefined && list.length >= 1 && list.length <= 20) return list
  const fix = "Write ban: ['1m', '10m', '1h'], or until: 'window'."
  throw invalidOption('penalty: ban', '1 to 20 durations', ban, fix, code)
}

/** Checks the options of a penalty with `until: 'window'`. Returns no durations, because such a penalty has none. */
function noDurations(options: PenaltyOptions): readonly Duration[] {
  const misfit = (['ban', ...untimed] as const).find((option) => options[option] !== undefined)
  if (misfit === undefined) return []
  throw new HeadgateError(
    'HEADGATE_PENALTY',
    `penalty: until: 'window' and ${misfit} exclude each other. Leave one of them out: such a ban has no duration of its own.`,
  )
}
