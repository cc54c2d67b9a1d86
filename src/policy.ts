import { type Duration, durationText, milliseconds } from './duration.ts'
import { HeadgateError, shown } from './errors.ts'
import { flag, knownOptions, positiveInteger, text } from './options.ts'

/** Of a policy that names none. */
export const defaultScope = 'default'

/** What every policy is asked for. */
export interface PolicyOptions {
  /** Units per window: a positive safe integer. */
  limit: number
  /** How long a window is: whole milliseconds, or text such as `'15m'`; from 1 ms to 366 days. */
  window: Duration
  /** Who this policy is, in headers, decisions and stored state: printable ASCII. Default: the window, such as `'15m'`. */
  name?: string
  /** Which of a request's keys it limits by. Default `'default'`. */
  scope?: string
  /** A refused call still counts, so who keeps hammering stays out. Default false. */
  countRefused?: boolean
  /** Evaluated and reported, never enforced. Default false. */
  shadow?: boolean
}

export interface BurstOptions extends PolicyOptions {
  /** How many units may come at once: a positive safe integer. Default: `limit`. */
  burst?: number
}

/** The promise without its arithmetic: validated, immutable. Times are milliseconds. */
export interface Terms {
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
 * Validates what a user wrote.
 * @param extra the options that this algorithm has besides the common ones
 * @throws HeadgateError with the code of the option that is wrong
 */
export function terms(algorithm: string, options: BurstOptions, extra: readonly string[] = []): Terms {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `${algorithm} takes an object, got ${shown(options)}. Write ${algorithm}({ limit: 100, window: '15m' }).`,
    )
  }
  knownOptions(algorithm, options, [...common, ...extra])
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
