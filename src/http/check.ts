import { HeadgateError, shown } from '../errors.ts'

/** @throws HeadgateError `HEADGATE_OPTION` unless it is a boolean or left out */
export function flag(value: unknown, option: string): boolean {
  if (value === undefined || typeof value === 'boolean') return value === true
  throw new HeadgateError('HEADGATE_OPTION', `${option} must be true or false, got ${shown(value)}. Give a boolean.`)
}

/**
 * @param example how such a function is written
 * @throws HeadgateError `HEADGATE_OPTION` unless it is a function or left out
 */
export function callback<Callback>(value: Callback, option: string, example: string): Callback {
  if (value === undefined || typeof value === 'function') return value
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${option} must be a function, got ${shown(value)}. Write ${option}: ${example}`,
  )
}
