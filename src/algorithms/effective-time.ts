/** The clocks of different machines are assumed to differ by less than 60 s. In microseconds. */
const clockSkew = 60_000_000

/**
 * The tolerance of a state, in microseconds. While a clock is behind the last time of the state by less than the tolerance, the clock
 * counts as standing still. Returns the longest of `times` (such as the window and the time of a refill), but at least 60 s.
 */
export function toleranceOf(...times: readonly number[]): number {
  return Math.max(clockSkew, ...times)
}

/**
 * The time at which a state is evaluated. If the clock went back by less than the tolerance, the state is evaluated at its own last
 * time until the clock passes that time. So no unit becomes free twice, even if machines with different clocks write to one key. If the
 * clock went back further, the state is evaluated at the time of the clock, so that no key is refused for longer than the tolerance.
 */
export function effectiveTime(algorithm: { readonly tolerance: number }, last: number, now: number): number {
  return now < last && last - now < algorithm.tolerance ? last : now
}

/**
 * Converts a wait that starts at the time of the state into a wait that starts now: the store's clock is `lag` microseconds behind the
 * time of the state.
 */
export function withLag(wait: number, lag: number): number {
  return wait === 0 ? 0 : wait + lag
}
