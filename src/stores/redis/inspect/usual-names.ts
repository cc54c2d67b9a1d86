import { durationText } from '../../../common/index.ts'

const [second, minute, hour, day] = [1000, 60_000, 3_600_000, 86_400_000]

/**
 * Policy names whose hashes are compared with a stored hash. These are the names that policies get by default from usual windows (such as
 * `15m`) and from algorithms, and names that users often choose.
 */
export const usualNames: readonly string[] = [
  ...[second, minute, hour].flatMap((unit) => Array.from({ length: 60 }, (_, n) => durationText((n + 1) * unit))),
  ...Array.from({ length: 366 }, (_, n) => durationText((n + 1) * day)),
  ...[10, 50, 100, 200, 250, 500].map(durationText),
  ...['at-once', 'penalty', 'counter', 'requests', 'tokens', 'daily', 'hourly', 'burst', 'default'],
]
