/** The clocks of machines differ by less than this, in microseconds. */
const clockSkew = 60_000_000

/** How far back a clock may go and still stand still: the longest of these times (a window, a refill), or 60 s. */
export function toleranceOf(...times: readonly number[]): number {
  return Math.max(clockSkew, ...times)
}

/**
 * The effective time of a state. A clock that went back by less than the tolerance stands still until it catches up, so
 * that no unit is given twice, also if several machines with different clocks write to one key. A clock that went back
 * further is taken as the new time, so that no key is locked out for longer than that.
 */
export function effectiveTime(algorithm: { readonly tolerance: number }, last: number, now: number): number {
  return now < last && last - now < algorithm.tolerance ? last : now
}

/** A wait by the store's clock: a state whose time is `lag` ahead of that clock must first be caught up with. */
export function withLag(wait: number, lag: number): number {
  return wait === 0 ? 0 : wait + lag
}
