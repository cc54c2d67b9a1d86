/** Pseudo-random numbers, the same for the same seed, by the Park-Miller generator. */
export function random(seed) {
  let state = (seed % 2_147_483_646) + 1
  const next = () => {
    state = (state * 48_271) % 2_147_483_647
    return state / 2_147_483_647
  }
  return {
    next,
    below: (n) => Math.floor(next() * n),
    chance: (share) => next() < share,
    pick: (from) => from[Math.floor(next() * from.length)],
  }
}
