/*
 * Converts option values of other packages, which check less, into values that headgate accepts.
 */
import { sha256 } from '#platform'
import { shown } from '../../src/common/index.ts'

/** The largest limit of a sliding log. */
export const largestLog: number = 2 ** 50

/**
 * Reads a number from an option of another package. A text is read as a number, a fraction is rounded, and a number
 * outside the range becomes the nearest number in it.
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

/** Any text as the name of a limiter, which is at most 128 printable ASCII characters. */
export function limiterName(text: string): string {
  const name = encodeURI(text)
  if (name.length <= 128) return name || 'default'
  return hashOf(name) + name.slice(-96)
}

/** 32 letters and digits that stand for a text. */
export function hashOf(text: string): string {
  const bytes = [...sha256(new TextEncoder().encode(text))].slice(0, 16)
  return bytes.map((byte) => byte.toString(16).padStart(2, '0')).join('')
}

/** The options without those that are undefined. */
export function defined<Options extends object>(options: Options): Partial<Options> {
  return Object.fromEntries(Object.entries(options).filter(([, value]) => value !== undefined)) as Partial<Options>
}
