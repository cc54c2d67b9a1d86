import { type ErrorCode, HeadgateError, shown } from './errors.ts'

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

/** @throws HeadgateError with `code` if the value is not a whole number from 1 to 2^53 - 1 */
export function positiveInteger(value: unknown, what: string, code: ErrorCode): number {
  if (!Number.isSafeInteger(value) || (value as number) < 1) {
    throw new HeadgateError(
      code,
      `${what} must be a whole number from 1 to 2^53 - 1, got ${shown(value)}. Give a positive integer such as 100.`,
    )
  }
  return value as number
}

/**
 * Names appear in headers as Structured Field Strings (RFC 9651, 3.3.3), which hold printable ASCII only.
 * @throws HeadgateError with `code` if the value is not 1 to 128 printable ASCII characters
 */
export function text(value: unknown, what: string, code: ErrorCode): string {
  if (typeof value !== 'string' || !/^[\x20-\x7e]{1,128}$/.test(value)) {
    throw new HeadgateError(
      code,
      `${what} must be 1 to 128 printable ASCII characters, got ${shown(value)}. Give a short text such as 'daily'.`,
    )
  }
  return value
}

/** @throws HeadgateError `HEADGATE_OPTION` if the value is neither a boolean nor left out */
export function flag(value: unknown, option: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw new HeadgateError('HEADGATE_OPTION', `${option} must be true or false, got ${shown(value)}. Give a boolean.`)
}

/**
 * @param example such a function, for the error message
 * @throws HeadgateError `HEADGATE_OPTION` if the value is neither a function nor left out
 */
export function callback<Callback>(value: Callback, option: string, example: string): Callback {
  if (value === undefined || typeof value === 'function') return value
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${option} must be a function, got ${shown(value)}. Write ${option}: ${example}.`,
  )
}
