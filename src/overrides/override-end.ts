import type { Policy } from '../algorithms/index.ts'
import { HeadgateError, milliseconds, shown, wallClock } from '../common/index.ts'
import type { CallerCalendars } from '../policy/index.ts'
import { windowsOf } from '../stores/contract/index.ts'

/** The parts of a limiter that are needed to read the arguments of `override`. */
export interface TargetLimiter {
  readonly scopes: readonly string[]
  /** The policies that the limiter is known to have, without a penalty. */
  readonly policies: readonly Policy[]
  /**
   * Throws a HeadgateError if the limiter cannot have these policies in place of its own. Undefined if the policies depend on the caller:
   * other plans (policies of one caller) may have other policies.
   */
  readonly check?: (policies: readonly Policy[]) => unknown
}

const code = 'HEADGATE_OVERRIDE'

export function invalid(message: string): HeadgateError {
  return new HeadgateError(code, `override: ${message}`)
}

/** Returns the options. @throws HeadgateError if the end of the override has the name that other packages give to an end */
export function checkEnd<Options extends object>(options: Options): Options {
  const other = ['ttl', 'duration', 'expires', 'for'].find((name) => Object.hasOwn(Object(options), name))
  if (other === undefined) return options
  throw new HeadgateError('HEADGATE_OPTION', `override has no option ${shown(other)}. Write until: '2h'.`)
}

/** The end of the override in milliseconds since the epoch. */
export function timeOf(
  until: unknown,
  limiter: TargetLimiter,
  policy: string | undefined,
  calendar: CallerCalendars | undefined,
): number {
  const now = Math.floor(wallClock() / 1000)
  if (until === 'window') return endOfWindow(limiter, policy, now, calendar)
  const time = until instanceof Date ? until.getTime() : typeof until === 'string' ? timeOfText(until, now) : until
  const isTime = Number.isSafeInteger(time)
  if (isTime && (time as number) > now) return time as number
  throw invalid(`until ${isTime ? 'is in the past' : 'is no time'}: ${shown(until)}. ${endFix}`)
}

const endFix = "Write until: '2h', '2026-12-01', a Date, milliseconds since the epoch, or 'window'."

const isoTime = /^\d{4}-\d\d-\d\d(?:T\d\d:\d\d(?::\d\d(?:\.\d+)?)?(Z|[+-]\d\d:?\d\d)?)?$/

function timeOfText(until: string, now: number): number {
  const [date, zone] = isoTime.exec(until) ?? []
  if (date === undefined) return now + durationOf(until)
  const [year, month, day] = date.slice(0, 10).split('-').map(Number) as [number, number, number]
  if (new Date(Date.UTC(year, month - 1, day)).getUTCDate() !== day) return Number.NaN // such as 30 February
  return Date.parse(date.includes('T') && zone === undefined ? `${date}Z` : date)
}

function durationOf(until: string): number {
  try {
    return milliseconds(until, 'override: until', code)
  } catch {
    throw invalid(`until is neither a time nor a duration of at most 366 days: ${shown(until)}. ${endFix}`)
  }
}

function endOfWindow(
  { policies, check }: TargetLimiter,
  name: string | undefined,
  now: number,
  calendar: CallerCalendars | undefined,
): number {
  const policy = policies.find((each) => each.name === name)
  const windows = policy && windowsOf(policy, now * 1000, calendar)
  if (windows !== undefined) return windows[2] / 1000
  if (policy !== undefined && 'aligned' in policy.algorithm && policy.algorithm.aligned) {
    return now - (now % policy.window) + policy.window
  }
  const plan = check ? '' : `, or call override of the limiter of the plan: limit.limiter.withPlan(plan).override(...)`
  throw invalid(
    `until: 'window' needs the name of a policy of this limiter whose windows have a fixed end: calendarWindow, or fixedWindow with ` +
      `align: 'clock', got ${shown(name)}. Write until: '2h' or a date${plan}.`,
  )
}
