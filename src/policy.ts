import { type Duration, durationText, milliseconds } from './duration.ts'
import { type ErrorCode, HeadgateError, shown } from './errors.ts'

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

/** @throws HeadgateError `HEADGATE_OPTION` that names the first unknown option and the known ones */
export function knownOptions(where: string, options: object, known: readonly string[]): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `${where} takes an object of options, got ${shown(options)}. It may have: ${known.join(', ')}.`,
    )
  }
  const unknown = Object.keys(options).find((option) => !known.includes(option))
  if (unknown !== undefined) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `${where} has no option ${shown(unknown)}. It takes: ${known.join(', ')}.`,
    )
  }
}

export function positiveInteger(value: unknown, what: string, code: ErrorCode): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw new HeadgateError(
      code,
      `${what} must be a whole number from 1 to 2^53 - 1, got ${shown(value)}. Give a positive integer such as 100.`,
    )
  }
  return value as number
}

function flag(value: unknown, what: string): boolean {
  if (value !== undefined && typeof value !== 'boolean') {
    throw new HeadgateError('HEADGATE_OPTION', `${what} must be true or false, got ${shown(value)}. Give a boolean.`)
  }
  return value === true
}

/** Names travel in headers as Structured Field Strings (RFC 9651, 3.3.3), which hold printable ASCII only. */
export function text(value: unknown, what: string, code: ErrorCode): string {
  if (typeof value !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(value)) {
    throw new HeadgateError(
      code,
      `${what} must be 1 to 128 printable ASCII characters, got ${shown(value)}. Give a short text such as 'daily'.`,
    )
  }
  return value
}
