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

/** The options of a penalty, which bans a key that keeps being refused. */
export interface PenaltyOptions {
  /** How many refusals lead to a ban, such as 10. */
  after: number
  /** The time in which they are counted, such as `'1m'`. A count starts with a refusal. */
  within: Duration
  /**
   * How long a key is banned: the first time, the second time and so on, such as `['1m', '10m']`. The last one repeats.
   * Needed without `until`.
   */
  ban?: Duration | readonly Duration[]
  /**
   * `'window'`, in place of `ban`: a ban ends when the refused call would be admitted, which is the end of a fixed window.
   * A call whose cost never fits begins no ban.
   */
  until?: 'window'
  /** How long a ban is remembered after its end. Default: the longest ban. */
  forget?: Duration
  /** True if a refused call during a ban starts the duration of that ban anew. Default false. */
  extend?: boolean
  /**
   * True if the other policies of the key count anew when a ban begins: it replaces their waits, and the key has its full
   * quota when it ends. Default false.
   */
  restart?: boolean
  /** The scope of the key that is banned. Default: the scope of the limiter's first policy. */
  scope?: string
  /** The name of the penalty in decisions. Default `'penalty'`. */
  name?: string
  /** The HTTP status of a banned request. Default 429. */
  status?: 403 | 429
}

/** The options that say nothing if the penalty ends with the window. */
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
 * A policy that bans keys which the other policies refuse again and again. Not public: it is the `penalty` option of a
 * limiter.
 * @throws HeadgateError `HEADGATE_PENALTY` if an option is out of range, `HEADGATE_NAME`, `HEADGATE_SCOPE`, `HEADGATE_OPTION`
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

/** Checks the options of a penalty that ends with the window. It has no durations. */
function noDurations(options: PenaltyOptions): readonly Duration[] {
  const misfit = (['ban', ...untimed] as const).find((option) => options[option] !== undefined)
  if (misfit === undefined) return []
  throw new HeadgateError(
    'HEADGATE_PENALTY',
    `penalty: until: 'window' and ${misfit} exclude each other. Leave one of them out: such a ban has no duration of its own.`,
  )
}
