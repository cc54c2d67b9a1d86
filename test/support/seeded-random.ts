/** A whole number below `end`. */
export type Random = (end: number) => number

/** Marsaglia's xorshift32: the same numbers in every run. */
export function seededRandom(seed: number): Random {
  let x = seed
  return (end) => {
    x ^= x << 13
    x ^= x >>> 17
    x ^= x << 5
    return (x >>> 0) % end
  }
}
