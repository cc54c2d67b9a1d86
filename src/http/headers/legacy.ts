import { check, HeadgateError, monotonicClock, oneOf, readOptions, shown } from '../../common/index.ts'
import { tokenPattern } from '../keys/index.ts'
import { wholeSeconds } from '../retry-after.ts'
import { bindingVerdict, type ReportedPolicy, resetOf, type Writer } from './dialect.ts'

/** The names of the three legacy fields, and the form of the reset time. */
export interface LegacyOptions {
  /** Default `'X-RateLimit-Limit'`. */
  limit?: string
  /** Default `'X-RateLimit-Remaining'`. */
  remaining?: string
  /** Default `'X-RateLimit-Reset'`. Example: `'X-RateLimit-Reset-After'`. */
  reset?: string
  /** `'epoch'` (default): seconds since 1970, as GitHub sends. `'delta'`: seconds from now. */
  resetAs?: 'epoch' | 'delta'
}

const isName = (given: unknown) => typeof given === 'string' && tokenPattern.test(given) && given.length <= 128
const field = (name: string) => check<string>(isName, 'a header name of at most 128 characters', shown(name), name)

const readers = {
  limit: field('X-RateLimit-Limit'),
  remaining: field('X-RateLimit-Remaining'),
  reset: field('X-RateLimit-Reset'),
  resetAs: oneOf('epoch', 'delta'),
}

/** The fields that are older than any draft: the binding policy's limit, what is left, and when the quota is full. */
export function legacy(reported: readonly ReportedPolicy[], options: LegacyOptions = {}): Writer {
  const { resetAs, ...names } = readOptions('headers.legacy', options, readers)
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

/** In milliseconds. A smaller difference between two clocks hardly shows in whole seconds. */
const tolerance = 250

/**
 * The time of a decision as the time of day. The default clock of a store ignores it when an operator sets the
 * machine's time: decisions need a clock that never jumps, but a client compares the header with the time of day. Times
 * of another clock, such as a database's or a test's, are returned unchanged. A decision without a time was made just
 * now.
 */
function timeOfDay(at: number | undefined): number {
  const wall = Date.now()
  if (at === undefined) return wall
  const isOurs = Math.abs(at - wall) > tolerance && Math.abs(at - monotonicClock() / 1000) < tolerance
  return isOurs ? wall : at
}

/** Throws if two fields have one name: only the last would be sent. Letter case is ignored (RFC 9110, 5.1). */
function checkDistinct(names: readonly string[]): void {
  if (new Set(names.map((name) => name.toLowerCase())).size === names.length) return
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `headers.legacy: limit, remaining and reset must have different names, got ${names.map(shown).join(', ')}. Give each its own.`,
  )
}

/** Remembers the text of the last number, because a limit or the current second is mostly the same as before. */
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
