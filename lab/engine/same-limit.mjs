import { fixedWindow, segmentedWindow, slidingLog, slidingWindow, tokenBucket } from 'headgate'

/** The algorithms that are compared side by side. `leakyBucket` and `gcra` are the arithmetic of `tokenBucket`. */
const windows = {
  'sliding window': slidingWindow,
  'fixed window': fixedWindow,
  'segmented window': segmentedWindow,
  'sliding log': slidingLog,
}

/**
 * The same limit and window by each algorithm, by its name. A bucket also keeps the burst.
 * @returns {[string, import('headgate').Policy][]}
 */
export function sameLimit({ limit, window, burst }) {
  /** @type {[string, import('headgate').Policy][]} */
  const policies = Object.entries(windows).map(([name, make]) => [name, make({ limit, window })])
  return [...policies, ['token bucket', tokenBucket({ limit, window, burst })]]
}
