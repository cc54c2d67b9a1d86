/** The clocks of different machines are assumed to differ by less than 60 s. In microseconds. */
const clockSkew = 60_000_000

/** By how much a clock may go back without effect: the longest of these times (a window, a refill), at least 60 s. */
export function toleranceOf(...times: readonly number[]): number {
  return Math.max(clockSkew, ...times)
}

/**
 * The time at which a state is evaluated. If the clock went back by less than the tolerance, it is the last time of the state
 * until the clock passes that time. So no unit comes back twice, also if machines with different clocks write to one key. If
 * the clock went back further, it is the time of the clock, so that no key is refused for longer than the tolerance.
 */
export function effectiveTime(algorithm: { readonly tolerance: number }, last: number, now: number): number {
  return now < last && last - now < algorithm.tolerance ? last : now
}

/** A wait by the store's clock: `wait` counts from the time of the state, which is `lag` microseconds after that clock. */
export function withLag(wait: number, lag: number): number {
  return wait === 0 ? 0 : wait + lag
}
