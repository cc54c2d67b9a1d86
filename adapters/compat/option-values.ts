/* Converts option values of other packages into values that headgate accepts. The other packages check their options less strictly. */
import { sha256 } from '#platform'
import { shown } from '../../src/common/index.ts'

/** The largest limit of a sliding log. */
export const largestLog: number = 2 ** 50

/**
 * Reads a number from an option of another package. A text is converted to a number. A fraction is rounded. A number
 * outside the range becomes the nearest number in the range.
 * @throws TypeError for a value that is no number
 */
export function numberFor(
  option: string,
  value: unknown,
  least: number,
  most: number,
  round: (value: number) => number = Math.ceil,
): number {
  const number = typeof value === 'string' ? Number(value) : value
  if (typeof number === 'number' && !Number.isNaN(number)) return Math.min(most, Math.max(least, round(number)))
  throw new TypeError(`${option} must be a number, got ${shown(value)}.`)
}

/** A name of 1 to 128 printable ASCII characters for a limiter, made from any text. */
export function limiterName(text: string): string {
  const name = encodeURI(text)
  if (name.length <= 128) return name || 'default'
  return hashOf(name) + name.slice(-96)
}

/** A hash of the text: 32 letters and digits. */
export function hashOf(text: string): string {
  const bytes = [...sha256(new TextEncoder().encode(text))].slice(0, 16)
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** A copy of the options without the options that are undefined. */
export function defined<Options extends object>(options: Options): Partial<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<Options>
}
