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

/** The same for any whole number. Neighbouring numbers give unrelated random numbers. */
export function randomOf(number: number): Random {
  const high = Math.floor(number / 2 ** 32)
  const random = seededRandom(Math.imul((number ^ high) | 0, 0x9e3779b1) || 1)
  for (let n = 0; n < 8; n++) random(2)
  return random
}
