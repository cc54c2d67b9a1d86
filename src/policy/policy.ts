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

/** The scope (kind of key) of a policy without the option `scope`. */
export const defaultScope = 'default'

/** The options that every policy has. */
export interface PolicyOptions {
  /** The number of units per window: a whole number from 0 to 2^53 - 1. With 0, every call is refused. Example: `100`. */
  limit: number
  /** The length of a window: whole milliseconds, or a text such as `'15m'`. From 1 ms to 366 days. */
  window: Duration
  /** The policy's name in response fields, decisions and stored states: printable ASCII. Default: the window, such as `'15m'`. */
  name?: string | undefined
  /**
   * The name that clients see in place of `name`: in the fields of draft-8 and draft-11, and in the body of a refusal. Printable
   * ASCII. Default: `name`. Example: `{ name: 'v2-search', label: 'search' }`.
   */
  label?: string | undefined
  /**
   * False to hide the policy from clients, for an internal limit. No response field lists the policy. A refusal by the policy has status
   * 429 and `Retry-After`, but not the policy's name. Decisions still show the policy. Default true.
   */
  listed?: boolean | undefined
  /** The kind of key by which the policy limits, if a request has several keys. Default `'default'`. Example: `'user'`. */
  scope?: string | undefined
  /** True to count refused calls too, so that a client that never stops sending stays refused. Default false. */
  countRefused?: boolean | undefined
  /** True to evaluate and report the policy without ever refusing a call. Default false. */
  shadow?: boolean | undefined
}

/** The options of a policy with a burst. */
export interface BurstOptions extends PolicyOptions {
  /** How many units can be used at the same time: a whole number from 1 to 2^53 - 1. Default: `limit`. */
  burst?: number | undefined
}

/**
 * The calendar of the customer that a call gives, for policies with `anchor: 'caller'` or `timeZone: 'caller'`.
 * Example: `{ anchor: customer.since, timeZone: 'Europe/Berlin' }`.
 */
export interface CallerCalendar {
  /**
   * The day with which the customer's windows begin: for months a number from 1 to 31, or a date as text (`'2026-02-15'`), a Date or
   * milliseconds since the epoch. A Date or a number of milliseconds means its date in the customer's time zone.
   */
  readonly anchor?: number | string | Date
  /** The IANA name of the customer's time zone. */
  readonly timeZone?: string
}

/** The calendars that a call gives: one value for all policies that ask for a calendar, or a record with a value for each scope. */
export type CallerCalendars = CallerCalendar | Readonly<Record<string, CallerCalendar>>

/** The options of a policy after their checks, with defaults filled in. Immutable. Times are milliseconds. */
export interface PolicySettings {
  readonly name: string
  /** The name that clients see in place of `name`. If undefined, clients see `name`. */
  readonly label?: string
  /** False if no response shows the policy. */
  readonly listed?: boolean
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
const listedReader = flag(true)

const common = ['limit', 'window', 'name', 'scope', 'countRefused', 'shadow', 'label', 'listed']

/**
 * Checks the options of a policy, and fills in the defaults.
 * @param extra the names of the options that only this algorithm has
 * @throws HeadgateError if an option is invalid
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
    listed: listedReader(options.listed, `${algorithm}: listed`),
    scope: scopeReader(options.scope, `${algorithm}: scope`),
    limit,
    window,
    burst: burstOf(options, limit, algorithm),
    countRefused: flagReader(options.countRefused, `${algorithm}: countRefused`),
    shadow: flagReader(options.shadow, `${algorithm}: shadow`),
  }
}

/**
 * Checks the names of a policy's options.
 * @throws HeadgateError `HEADGATE_POLICY` if `options` is not an object
 * @throws HeadgateError `HEADGATE_OPTION` if an option is unknown
 */
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

/**
 * Checks the options beside the text of a policy.
 * @throws HeadgateError `HEADGATE_POLICY` for another value, such as a number or a Date, whose meaning would be lost without notice
 */
export function checkTextOptions(name: string, options: object, example: string): void {
  if (Object.prototype.toString.call(options) === '[object Object]') return
  throw new HeadgateError(
    'HEADGATE_POLICY',
    `${name} takes a text and an object of options, got ${shown(options)}. Write ${name}(${example}).`,
  )
}

function burstOf({ burst }: BurstOptions, limit: number, algorithm: string): number {
  if (burst === undefined) return limit
  if (limit > 0) return burstReader(burst, `${algorithm}: burst`)
  throw new HeadgateError(
    'HEADGATE_BURST',
    `${algorithm}: a policy with a limit of 0 admits nobody, so it has no burst, got ${shown(burst)}. Leave the burst out.`,
  )
}
