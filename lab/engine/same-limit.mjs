import { fixedWindow, segmentedWindow, slidingLog, slidingWindow, tokenBucket } from 'headgate'

/** The algorithms to compare. `leakyBucket` and `gcra` are left out: they decide as `tokenBucket` does. */
const windows = {
  'sliding window': slidingWindow,
  'fixed window': fixedWindow,
  'segmented window': segmentedWindow,
  'sliding log': slidingLog,
}

/**
 * Policies with the same limit and window, one for each algorithm, by the algorithm's name. A bucket also has the
 * burst.
 * @returns {[string, import('headgate').Policy][]}
 */
export function sameLimit({ limit, window, burst }) {
  /** @type {[string, import('headgate').Policy][]} */
  const policies = Object.entries(windows).map(([name, make]) => [name, make({ limit, window })])
  return [...policies, ['token bucket', tokenBucket({ limit, window, burst })]]
}
