const shares = { p50: 0.5, p90: 0.9, p95: 0.95, p99: 0.99, 'p99.9': 0.999, max: 1 }

export const quantileNames = Object.keys(shares)

/** The quantiles of numbers, by the nearest rank: p99 is the least number that 99 % of the numbers do not exceed. */
export function quantiles(numbers) {
  const sorted = Float64Array.from(numbers).sort()
  const rank = (share) => Math.max(0, Math.ceil(share * sorted.length) - 1)
  return Object.fromEntries(Object.entries(shares).map(([name, share]) => [name, sorted[rank(share)] ?? 0]))
}
