import { type Duration, durationText, milliseconds } from './duration.ts'
import { HeadgateError, shown } from './errors.ts'
import { flag, knownOptions, positiveInteger, text } from './options.ts'

/** The scope of a policy that names none. */
export const defaultScope = 'default'

/** The options of every policy. */
export interface PolicyOptions {
  /** Units per window: a whole number from 1 to 2^53 - 1, such as 100. */
  limit: number
  /** The length of a window: whole milliseconds, or text such as `'15m'`. From 1 ms to 366 days. */
  window: Duration
  /** The policy's name in headers, decisions and stored states: printable ASCII. Default: the window, such as `'15m'`. */
  name?: string
  /** Which of a request's keys the policy limits by, such as `'user'`. Default `'default'`. */
  scope?: string
  /** True if refused calls count too, so that a client that keeps hammering stays refused. Default false. */
  countRefused?: boolean
  /** True if the policy is evaluated and reported, but never enforced. Default false. */
  shadow?: boolean
}

export interface BurstOptions extends PolicyOptions {
  /** How many units may come at once: a whole number from 1 to 2^53 - 1. Default: `limit`. */
  burst?: number
}

/** The validated options of a policy. Immutable; times are milliseconds. */
export interface PolicySettings {
  readonly name: string
  readonly scope: string
  readonly limit: number
  readonly window: number
  readonly burst: number
  readonly countRefused: boolean
  readonly shadow: boolean
}

const common = ['limit', 'window', 'name', 'scope', 'countRefused', 'shadow']

/**
 * Validates the options of a policy, and fills in the defaults.
 * @param extra names of the options that this algorithm has besides the common ones
 * @throws HeadgateError with the code of the option that is invalid
 */
export function policySettings(
  algorithm: string,
  options: BurstOptions,
  extra: readonly string[] = [],
): PolicySettings {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `${algorithm} takes an object, got ${shown(options)}. Write ${algorithm}({ limit: 100, window: '15m' }).`,
    )
  }
  knownOptions(algorithm, options, [...common, ...extra], ['limit', 'window'])
  const limit = positiveInteger(options.limit, `${algorithm}: limit`, 'HEADGATE_LIMIT')
  const window = milliseconds(options.window, `${algorithm}: window`, 'HEADGATE_WINDOW')
  return {
    name: text(options.name ?? durationText(window), `${algorithm}: name`, 'HEADGATE_NAME'),
    scope: text(options.scope ?? defaultScope, `${algorithm}: scope`, 'HEADGATE_SCOPE'),
    limit,
    window,
    burst: positiveInteger(options.burst ?? limit, `${algorithm}: burst`, 'HEADGATE_BURST'),
    countRefused: flag(options.countRefused, `${algorithm}: countRefused`),
    shadow: flag(options.shadow, `${algorithm}: shadow`),
  }
}
