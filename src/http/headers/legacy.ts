import { check, HeadgateError, monotonicClock, oneOf, optional, readOptions, shown, text } from '../../common/index.ts'
import { tokenPattern } from '../keys/index.ts'
import { wholeSeconds } from '../retry-after.ts'
import { bindingVerdict, type ReportedPolicy, resetOf, type Writer } from './dialect.ts'

/** The names of the three legacy fields, the format of the reset time, and the policy of the numbers. */
export interface LegacyOptions {
  /**
   * The name of the policy whose numbers the fields show. Default: the binding policy, which may differ from response to response. A plan
   * without the named policy uses the default. Example: `'minute'`.
   */
  policy?: string | undefined
  /** The name of the field with the limit. Default `'X-RateLimit-Limit'`. */
  limit?: string | undefined
  /** The name of the field with the remaining units. Default `'X-RateLimit-Remaining'`. */
  remaining?: string | undefined
  /** The name of the field with the reset time. Default `'X-RateLimit-Reset'`. Example: `'X-RateLimit-Reset-After'`. */
  reset?: string | undefined
  /**
   * The format of the reset time: seconds since 1970 (`'epoch'`), as GitHub sends, or seconds from now (`'delta'`). Default:
   * `'epoch'`.
   */
  resetAs?: 'epoch' | 'delta' | undefined
}

const isName = (given: unknown) => typeof given === 'string' && tokenPattern.test(given) && given.length <= 128
const field = (name: string) => check<string>(isName, 'a header name of at most 128 characters', shown(name), name)

const readers = {
  policy: optional(text()),
  limit: field('X-RateLimit-Limit'),
  remaining: field('X-RateLimit-Remaining'),
  reset: field('X-RateLimit-Reset'),
  resetAs: oneOf('epoch', 'delta'),
}

/**
 * Makes the function that writes three fields of a response: the limit of the binding policy (see `bindingVerdict`), the
 * remaining units, and the time at which the policy has its full quota again.
 */
export function legacy(reported: readonly ReportedPolicy[], options: LegacyOptions = {}): Writer {
  const { resetAs, policy: _, ...names } = readOptions('headers.legacy', options, readers)
  const { limit: limitName, remaining: remainingName, reset: resetName } = names
  checkDistinct(Object.values(names))
  const epoch = resetAs === 'epoch'
  const limit = new NumberText()
  const reset = new NumberText()
  return (decision, sink, response) => {
    const binding = bindingVerdict(decision, reported)
    const from = epoch ? timeOfDay(decision.at) : 0
    sink.setHeader(response, limitName, limit.of(binding.limit))
    sink.setHeader(response, remainingName, String(decision.remaining))
    sink.setHeader(response, resetName, reset.of(wholeSeconds(from + resetOf(binding, decision))))
  }
}

/**
 * Two clocks whose times differ by less than this many milliseconds count as equal: a field in whole seconds hardly shows a
 * smaller difference.
 */
const tolerance = 250

/**
 * The time of a decision in milliseconds, as the machine's wall clock shows it: a client compares the reset time with a wall clock. The
 * default clock of a store never jumps, so it does not change when an administrator sets the machine's time. Times of another clock, such
 * as a database's or a test's, are returned unchanged. If a decision has no time, it was made now.
 */
function timeOfDay(at: number | undefined): number {
  const wall = Date.now()
  if (at === undefined) return wall
  const isOurs = Math.abs(at - wall) > tolerance && Math.abs(at - monotonicClock() / 1000) < tolerance
  return isOurs ? wall : at
}

/** Throws if two fields have the same name, because only the last would be sent. The case of letters does not matter (RFC 9110, 5.1). */
function checkDistinct(names: readonly string[]): void {
  if (new Set(names.map((name) => name.toLowerCase())).size === names.length) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `headers.legacy: limit, remaining and reset must have different names, got ${names.map(shown).join(', ')}. Give each its own.`,
  )
}

/** Converts a number to text, and remembers the last text: the limit or the current second is usually the same as before. */
class NumberText {
  #number = 0
  #text = '0'

  of(number: number): string {
    if (number !== this.#number) {
      this.#number = number
      this.#text = String(number)
    }
    return this.#text
  }
}
