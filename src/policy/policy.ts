import {
  type Duration,
  durationText,
  flag,
  HeadgateError,
  knownOptions,
  milliseconds,
  optional,
  shown,
  text,
  whole,
} from '../common/index.ts'

/** The default scope. */
export const defaultScope = 'default'

/** The options of every policy. */
export interface PolicyOptions {
  /** Units per window: a whole number from 0 to 2^53 - 1, such as 100. A policy with a limit of 0 admits nobody. */
  limit: number
  /** The length of a window: whole milliseconds, or text such as `'15m'`. From 1 ms to 366 days. */
  window: Duration
  /** The policy's name in headers, decisions and stored states: printable ASCII. Default: the window, such as `'15m'`. */
  name?: string
  /**
   * What clients see in place of the name: in the fields of draft-8 and draft-11 and in the body of a refusal. Printable
   * ASCII. Default: the name. Example: `{ name: 'v2-search', label: 'search' }`.
   */
  label?: string
  /** Which of a request's keys the policy limits by, such as `'user'`. Default `'default'`. */
  scope?: string
  /** True if refused calls count too, so that a client that keeps hammering stays refused. Default false. */
  countRefused?: boolean
  /** True if the policy is evaluated and reported, but never enforced. Default false. */
  shadow?: boolean
}

/** The options of a policy that admits a burst. */
export interface BurstOptions extends PolicyOptions {
  /** How many units may come at once: a whole number from 1 to 2^53 - 1. Default: `limit`. */
  burst?: number
}

/** The validated options of a policy. Immutable; times are milliseconds. */
export interface PolicySettings {
  readonly name: string
  /** What clients see in place of the name. If absent, clients see the name. */
  readonly label?: string
  readonly scope: string
  readonly limit: number
  readonly window: number
  readonly burst: number
  readonly countRefused: boolean
  readonly shadow: boolean
}

const limitReader = whole(undefined, { least: 0, code: 'HEADGATE_LIMIT' })
const burstReader = whole(undefined, { code: 'HEADGATE_BURST' })
const nameReader = optional(text(undefined, 'HEADGATE_NAME'))
const scopeReader = text(defaultScope, 'HEADGATE_SCOPE')
const flagReader = flag()

const common = ['limit', 'window', 'name', 'scope', 'countRefused', 'shadow', 'label']

/**
 * Validates the options of a policy, and fills in the defaults.
 * @param extra names of the options that this algorithm has beside those of every policy
 * @throws HeadgateError with the code of the option that is invalid
 */
export function policySettings(
  algorithm: string,
  options: BurstOptions,
  extra: readonly string[] = [],
): PolicySettings {
  checkPolicyOptions(algorithm, options, [...common, ...extra], "limit: 100, window: '15m'")
  const limit = limitReader(options.limit, `${algorithm}: limit`)
  const window = milliseconds(options.window, `${algorithm}: window`, 'HEADGATE_WINDOW')
  const name = nameReader(options.name, `${algorithm}: name`) ?? durationText(window)
  return {
    name,
    label: nameReader(options.label, `${algorithm}: label`) ?? name,
    scope: scopeReader(options.scope, `${algorithm}: scope`),
    limit,
    window,
    burst: burstOf(options, limit, algorithm),
    countRefused: flagReader(options.countRefused, `${algorithm}: countRefused`),
    shadow: flagReader(options.shadow, `${algorithm}: shadow`),
  }
}

/** @throws HeadgateError `HEADGATE_POLICY` if `options` is no object, `HEADGATE_OPTION` if an option is unknown */
export function checkPolicyOptions(
  algorithm: string,
  options: object,
  known: readonly string[],
  example: string,
): void {
  if (typeof options === 'object' && options !== null && !Array.isArray(options)) {
    knownOptions(algorithm, options, known)
    return
  }
  const fix = `Write ${algorithm}({ ${example} }).`
  throw new HeadgateError('HEADGATE_POLICY', `${algorithm} takes an object, got ${shown(options)}. ${fix}`)
}

function burstOf({ burst }: BurstOptions, limit: number, algorithm: string): number {
  if (burst === undefined) return limit
  if (limit > 0) return burstReader(burst, `${algorithm}: burst`)
  throw new HeadgateError(
    'HEADGATE_BURST',
    `${algorithm}: a policy with a limit of 0 admits nobody, so it has no burst, got ${shown(burst)}. Leave the burst out.`,
  )
}
