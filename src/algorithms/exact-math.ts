/** The largest integer up to which all integers are exact: 2^53 - 1. */

export const maxSafe: number = Number.MAX_SAFE_INTEGER

/** The largest `b` and `c` of `mulDiv`. 366 days in microseconds are just below this number. */
export const maxFactor: number = 2 ** 45

/**
 * floor(a * b / c) for integers 0 <= b <= c <= 2^45 and 0 <= a < 2^53. The result is exact even if a * b exceeds 2^53: the function
 * then uses long division in digits of 7 bits, because doubles are exact up to 2^53 = 2^45 * 2^7 * 2.
 *
 * A division of doubles never rounds a quotient of integers below 2^53 up to the next integer. So `Math.floor` and `Math.ceil` of such
 * a quotient are exact, here and everywhere in this folder.
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
 * ceil(a * times / per) for integers 0 <= a < 2^53 and times, per > 0. The result is exact, except in two cases, where it may
 * be too large: a result beyond 2^53, and a `per` beyond 2^45 after times / per is reduced.
 */
export function ratioUp(a: number, times: number, per: number): number {
  const divisor = gcd(times, per)
  const c = per / divisor
  const whole = Math.floor(times / divisor / c)
  if (c > maxFactor) return a === 0 ? 0 : Infinity
  return a * whole + (a - mulDiv(a, c - (times / divisor - whole * c), c))
}

/**
 * floor(a * times / per) for the numbers that `ratioUp` accepts. In the two cases where `ratioUp` is inexact, the result may be
 * too small.
 */
export function ratioDown(a: number, times: number, per: number): number {
  const divisor = gcd(times, per)
  const c = per / divisor
  const whole = Math.floor(times / divisor / c)
  if (c > maxFactor) return 0
  return Math.min(maxSafe, a * whole + mulDiv(a, times / divisor - whole * c, c))
}
