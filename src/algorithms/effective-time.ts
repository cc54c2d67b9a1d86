/** The clocks of machines differ by less than this, in microseconds. */
const clockSkew = 60_000_000

/** By how much a clock may go back without effect: the longest of these times (a window, a refill), or 60 s. */
export function toleranceOf(...times: readonly number[]): number {
  return Math.max(clockSkew, ...times)
}

/**
 * The effective time of a state. If the clock went back by less than the tolerance, time stands still until the clock catches
 * up, so that no unit is given twice, also if machines with different clocks write to one key. If the clock went back
 * further, its time is the new time, so that no key is locked out for longer than the tolerance.
 */
export function effectiveTime(algorithm: { readonly tolerance: number }, last: number, now: number): number {
  return now < last && last - now < algorithm.tolerance ? last : now
}

/** A wait by the store's clock. `lag`: how far the time of a state is ahead of that clock, which is waited for first. */
export function withLag(wait: number, lag: number): number {
  return wait === 0 ? 0 : wait + lag
}
