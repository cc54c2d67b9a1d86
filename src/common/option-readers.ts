/* Functions that make readers of options. A reader checks the value of an option and fills in the default. */
import { type Clock, checkClock } from './clock.ts'
import { type Duration, milliseconds, warnOfSeconds } from './duration.ts'
import { type ErrorCode, invalidOption, shown } from './errors.ts'
import { type Reader, type Readers, readOptions } from './options.ts'

/** The type of options after reading: durations in milliseconds, defaults filled in. @template LeftOut options without a default */
export type Settled<Options, LeftOut extends keyof Options = never> = {
  readonly [Option in Exclude<keyof Options, LeftOut>]: Duration extends Options[Option]
    ? number
    : Exclude<Options[Option], undefined>
} & { readonly [Option in LeftOut]: Options[Option] | undefined }

interface Range {
  readonly least?: 0 | 1
  readonly most?: number
  readonly code?: ErrorCode
}

interface DurationRange extends Range {
  /**
   * The shortest usual duration, in milliseconds. A smaller number causes a warning, because the user may mean seconds.
   * Default: no warning.
   */
  readonly usual?: number
}

const maxSafe = Number.MAX_SAFE_INTEGER

/**
 * A reader that accepts a value if `passes` returns true for the value.
 * @param expected describes a valid value, for the error message
 * @param example a valid value for the error message, or a function that returns one for the given value
 * @param otherwise the default; if it is undefined, the option is required
 */
export function check<Value>(
  passes: (given: unknown) => boolean,
  expected: string,
  example: string | ((given: unknown) => string),
  otherwise?: Value,
  code?: ErrorCode,
): Reader<Value> {
  return (given, name) => {
    const read = given === undefined ? otherwise : given
    if (passes(read)) return read as Value
    const option = name.slice(name.lastIndexOf(' ') + 1)
    const valid = typeof example === 'string' ? example : example(given)
    throw invalidOption(name, expected, given, `Write ${option}: ${valid}.`, code)
  }
}

/** A reader of a whole number. @param otherwise the default; if it is undefined, the option is required */
export function whole(otherwise?: number, { least = 1, most = maxSafe, code }: Range = {}): Reader<number> {
  const passes = (given: unknown) => Number.isSafeInteger(given) && Number(given) >= least && Number(given) <= most
  const expected = `a whole number from ${least} to ${most === maxSafe ? '2^53 - 1' : most}`
  return check(passes, expected, String(otherwise ?? Math.min(most, 100)), otherwise, code)
}

/** A reader of a duration, which returns milliseconds. @param otherwise the default; if it is undefined, the option is required */
export function duration(otherwise?: Duration, range: DurationRange = {}): Reader<number> {
  const { least, most, code = 'HEADGATE_OPTION', usual } = range
  return (given, name) => {
    const read = milliseconds(given === undefined ? otherwise : given, name, code, least, most)
    if (usual !== undefined) warnOfSeconds(given, name, usual)
    return read
  }
}

/** A reader of Infinity, and of all values that `reader` accepts. @param otherwise replaces the default of `reader` */
export function unbounded(reader: Reader<number>, otherwise?: number): Reader<number> {
  return (given, name) => {
    const read = given === undefined ? otherwise : given
    return read === Infinity ? Infinity : reader(given, name)
  }
}

/** A reader that accepts any value, even null, because the code that uses the option checks the value. */
export const anything: Reader<unknown> = (given) => given

/** A reader that accepts undefined, and all values that `reader` accepts. The option is not required. */
export function optional<Value>(reader: Reader<Value>): Reader<Value | undefined> {
  return (given, name) => (given === undefined ? undefined : reader(given, name))
}

/**
 * A reader of 1 to 128 printable ASCII characters. Names appear in headers as Structured Field Strings (RFC 9651, 3.3.3), which
 * allow no other characters.
 * @param otherwise the default; if it is undefined, the option is required
 */
export function text(otherwise?: string, code: ErrorCode = 'HEADGATE_OPTION'): Reader<string> {
  const passes = (given: unknown) => typeof given === 'string' && /^[\x20-\x7e]{1,128}$/.test(given)
  return check(passes, '1 to 128 printable ASCII characters', "'daily'", otherwise, code)
}

export function flag(otherwise = false): Reader<boolean> {
  return check((given) => typeof given === 'boolean', 'true or false', 'true', otherwise)
}

/** A reader that accepts one of these values. The default is the first value. */
export function oneOf<Value extends string>(...values: readonly Value[]): Reader<Value> {
  const names = values.map((each) => `'${each}'`)
  const expected = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  const start = (text: unknown) => (typeof text === 'string' ? text.slice(0, 2) : undefined)
  const nearest = (given: unknown) => `'${values.find((each) => start(each) === start(given)) ?? values[0]}'`
  return check((given) => values.includes(given as Value), expected, nearest, values[0])
}

/**
 * A reader of an option that is one of these words, or an object of options. The default is the first word.
 * @param example a valid object, for the error message
 */
export function wordOrOptions<const Word, Values extends object>(
  words: readonly Word[],
  readers: Readers<Values>,
  example: string,
): Reader<Word | Values> {
  const isObject = (given: unknown) => typeof given === 'object' && given !== null
  const known = check<Word | Values>(
    (given) => words.includes(given as Word) || isObject(given),
    `${words.map(shown).join(', ')} or ${example}`,
    example,
    words[0],
  )
  return (given, name) => {
    const read = known(given, name)
    return isObject(read) ? (readOptions(name, read as Values, readers) as Values) : read
  }
}

/** A reader that accepts one of the scopes (kinds of keys) that a limiter's policies have. The default is the first scope. */
export function scopeOf(scopes: readonly string[]): Reader<string> {
  const expected = `a scope of the limiter (${scopes.map(shown).join(', ')})`
  return check((given) => scopes.includes(given as string), expected, shown(scopes[0]), scopes[0])
}

/**
 * A reader of a function.
 * @param example a function, for the error message
 * @param otherwise the default; if it is undefined, the option is required
 */
export function callback<Callback>(example: string, otherwise?: Callback): Reader<Callback> {
  const passes = (given: unknown) => typeof given === 'function'
  return check(passes, 'a function', example, otherwise)
}

/** A reader of an optional function, which returns the function with its own type. @param example a function, for the error message */
export function hook(example: string): <Given>(given: Given, name: string) => Given {
  const read = callback(example)
  return (given, name) => (given === undefined ? given : (read(given, name) as typeof given))
}

/** A reader of an optional signal. The usual mistake is to give the controller of the signal. */
export const abortSignal: Reader<AbortSignal | undefined> = (given, name) => isSignal(given ?? undefined, name)

const isSignal = optional<AbortSignal>(
  check((given) => typeof Object(given).throwIfAborted === 'function', 'an AbortSignal', 'controller.signal'),
)

/** A reader of a clock, which returns whole microseconds since the epoch. @param otherwise the default */
export function clockOr<Otherwise extends Clock | undefined>(otherwise: Otherwise): Reader<Clock | Otherwise> {
  return (given) => (given === undefined ? otherwise : checkClock(given as Clock))
}
