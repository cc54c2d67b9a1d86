import { type ErrorCode, HeadgateError, invalidOption, shown } from './errors.ts'

/** The names of options, in the order in which an error message lists them. */
export type Names<Options> = readonly (keyof Options)[]

/**
 * @param required options that have a check of their own also for null
 * @throws HeadgateError `HEADGATE_OPTION` if an option is unknown, and the message lists the known ones; or if it is null,
 *   which would otherwise count as left out: a value that could not be read must not become a default in silence
 */
export function knownOptions(
  where: string,
  options: object,
  known: readonly string[],
  required: readonly string[] = [],
): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `${where} takes an object of options, got ${shown(options)}. It takes: ${known.join(', ')}.`,
    )
  }
  const unknown = Object.keys(options).find((option) => !known.includes(option))
  if (unknown !== undefined) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      `${where} has no option ${shown(unknown)}. It takes: ${known.join(', ')}.`,
    )
  }
  const empty = Object.entries(options).find(([option, value]) => value === null && !required.includes(option))
  if (empty !== undefined) {
    throw new HeadgateError('HEADGATE_OPTION', `${where}: ${empty[0]} is null. Give a value, or leave it out.`)
  }
}

/** `knownOptions` for the options of a call: fast if nothing is wrong. The values have checks of their own. */
export function callOptions(where: string, options: object, known: readonly string[]): void {
  let wrong = typeof options !== 'object' || options === null || Array.isArray(options)
  for (const option in options) if (!known.includes(option)) wrong = true
  if (wrong) knownOptions(where, options, known, known)
}

/** @throws HeadgateError with `code` if the value is not a whole number from `least` to 2^53 - 1 */
export function positiveInteger(value: unknown, what: string, code: ErrorCode, least: 0 | 1 = 1): number {
  if (!Number.isSafeInteger(value) || (value as number) < least) {
    const expected = `a whole number from ${least} to 2^53 - 1`
    throw invalidOption(what, expected, value, 'Give a positive integer such as 100.', code)
  }
  return value as number
}

/**
 * Names appear in headers as Structured Field Strings (RFC 9651, 3.3.3), which hold printable ASCII only.
 * @throws HeadgateError with `code` if the value is not 1 to 128 printable ASCII characters
 */
export function text(value: unknown, what: string, code: ErrorCode): string {
  if (typeof value !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(value)) {
    throw invalidOption(what, '1 to 128 printable ASCII characters', value, "Give a short text such as 'daily'.", code)
  }
  return value
}

/** @throws HeadgateError `HEADGATE_OPTION` if the value is neither a boolean nor left out */
export function flag(value: unknown, option: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw invalidOption(option, 'true or false', value, 'Give a boolean.')
}

/**
 * @param values all that are valid; the first one is the default
 * @throws HeadgateError `HEADGATE_OPTION` if the value is neither one of them nor left out
 */
export function oneOf<Value extends string>(value: Value | undefined, values: readonly Value[], option: string): Value {
  const chosen = value ?? (values[0] as Value)
  if (values.includes(chosen)) return chosen
  const names = values.map((each) => `'${each}'`)
  const expected = `${names.slice(0, -1).join(', ')} or ${names.at(-1)}`
  throw invalidOption(option, expected, value, `Leave it out for ${names[0]}.`)
}

/**
 * @param example such a function, for the error message
 * @throws HeadgateError `HEADGATE_OPTION` if the value is neither a function nor left out
 */
export function callback<Callback>(value: Callback, option: string, example: string): Callback {
  if (value === undefined || typeof value === 'function') return value
  throw invalidOption(option, 'a function', value, `Write ${option}: ${example}.`)
}
