/** Arithmetic that stays in the integers below 2^53. */

export const maxSafe: number = Number.MAX_SAFE_INTEGER

/** The largest factor and divisor that `mulDiv` takes. 366 days in microseconds are just below it. */
export const maxFactor: number = 2 ** 45

/**
 * floor(a * b / c) for integers 0 <= b <= c <= 2^45 and 0 <= a < 2^53. It is exact even if a * b passes 2^53: it then uses
 * long division in digits of 7 bits, because 2^45 * 2^7 * 2 is the most that a double holds exactly.
 *
 * A division of doubles never rounds a quotient of integers below 2^53 up to the next integer. So `Math.floor` and
 * `Math.ceil` of such a quotient are exact, here and everywhere in this folder.
 */
export function mulDiv(a: number, b: number, c: number): number {
  const product = a * b
  return product <= maxSafe ? Math.floor(product / c) : longMulDiv(a, b, c)
}

function longMulDiv(a: number, b: number, c: number): number {
  let quotient = 0
  let rest = 0
  for (let place = 2 ** 49; place >= 1; place /= 128) {
    const digit = Math.floor(a / place) % 128
    rest = rest * 128 + digit * b
    const q = Math.floor(rest / c)
    quotient = quotient * 128 + q
    rest -= q * c
  }
  return quotient
}

export function gcd(a: number, b: number): number {
  return b === 0 ? a : gcd(b, a % b)
}

/**
 * ceil(a * times / per) for integers 0 <= a < 2^53 and times, per > 0. The result may be too large, never too small, if it
 * passes 2^53, or if `per` passes 2^45 once the fraction is reduced.
 */
export function ratioUp(a: number, times: number, per: number): number {
  const divisor = gcd(times, per)
  const c = per / divisor
  const whole = Math.floor(times / divisor / c)
  if (c > maxFactor) return a === 0 ? 0 : Infinity
  return a * whole + (a - mulDiv(a, c - (times / divisor - whole * c), c))
}

/** floor(a * times / per) for the same numbers. The result may be too small, never too large, where it would be inexact. */
export function ratioDown(a: number, times: number, per: number): number {
  const divisor = gcd(times, per)
  const c = per / divisor
  const whole = Math.floor(times / divisor / c)
  if (c > maxFactor) return 0
  return Math.min(maxSafe, a * whole + mulDiv(a, times / divisor - whole * c, c))
}
