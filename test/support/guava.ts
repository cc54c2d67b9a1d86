import { readFileSync } from 'node:fs'
import { type Policy, smoothBursty, smoothWarmingUp } from '../../src/index.ts'

/*
 * Every recorded operation of Guava's RateLimiter 31.1, compared with ===. Operations without an exact result are left
 * out, and a test shows that they are rejected:
 *
 *     gw-0113, gw-0114            a warm-up of 0 (the store is NaN after any idle time)
 *     gb-0115, gw-0117            an infinite rate at the start
 *     gb-0116                     an infinite rate from its second operation on
 *     gb-0124, last 2 operations  the smallest positive double as a rate, whose permits take longer than any time
 *     gb-0121, gb-0122            more than 1,000,000 permits a second, whose waits are cut to 0 us: they limit nothing
 *     gb-0126                     a rate of 1e-9 a second, and times that saturate at 2^63 - 1 us
 */
export const rejectedConfigs = ['gw-0113', 'gw-0114', 'gb-0115', 'gw-0117', 'gb-0121', 'gb-0122', 'gb-0126']

/** A recorded operation with its arguments and results. */
export type Recorded = Record<string, number | string | boolean>
type Script = { config: Recorded; operations: Recorded[] }

const [, ...lines] = readFileSync(new URL('../golden/guava-ratelimiter.jsonl', import.meta.url), 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as Recorded)
export const scripts: Script[] = []
for (const line of lines) {
  if (line.type === 'config') scripts.push({ config: line, operations: [] })
  else scripts.at(-1)?.operations.push(line)
}

/** The scripts that are replayed. */
export const replayedScripts: readonly Script[] = scripts.filter(
  ({ config }) => !rejectedConfigs.includes(String(config.id)),
)

export function policyOf({ limiter, rate, maxBurstSeconds, warmupUs, coldFactor }: Recorded): Policy {
  const number = Number(rate)
  if (limiter === 'SmoothBursty') return smoothBursty({ rate: number, maxBurst: Number(maxBurstSeconds) * 1000 })
  return smoothWarmingUp({ rate: number, warmup: Number(warmupUs) / 1000, coldFactor: Number(coldFactor) })
}
