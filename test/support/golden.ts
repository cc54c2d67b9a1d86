import { readFileSync } from 'node:fs'
import { fixedWindow, gcra, leakyBucket, type Policy, slidingLog, slidingWindow, tokenBucket } from '../../src/index.ts'

/** One call of an oracle's script, and its exact decision. */
interface Operation {
  t: number
  key: string
  cost: number
  allowed: boolean
  remaining: number
  retryAfterMs: number | null
  nextMs: number | null
  resetAfterMs: number
}

export interface Script {
  id: string
  policy: Policy
  operations: Operation[]
}

interface Config {
  id: string
  limit: number
  windowMs: number
  capacity: number
  intervalMs: number
  refill: number
  leak: number
  rate: number
  burst: number
  perMs: number
  counts: 'admitted' | 'attempts'
  rule: 'le' | 'floor'
  boundary: 'gt' | 'ge'
}

/** The policy that corresponds to each oracle; undefined for a config that no policy implements. */
const policies: Record<string, (config: Config) => Policy | undefined> = {
  'fixed-window': ({ limit, windowMs }) => fixedWindow({ limit, window: windowMs, align: 'clock' }),
  'full-refill': ({ capacity, intervalMs, boundary }) =>
    boundary === 'ge' ? fixedWindow({ limit: capacity, window: intervalMs, align: 'first-request' }) : undefined,
  'sliding-counter': ({ limit, windowMs, counts, rule }) =>
    rule === 'le' ? slidingWindow({ limit, window: windowMs, countRefused: counts === 'attempts' }) : undefined,
  'sliding-log': ({ limit, windowMs }) => slidingLog({ limit, window: windowMs }),
  'token-bucket': ({ capacity, refill, perMs }) => tokenBucket({ limit: refill, window: perMs, burst: capacity }),
  'leaky-bucket-meter': ({ capacity, leak, perMs }) => leakyBucket({ limit: leak, window: perMs, burst: capacity }),
  gcra: ({ burst, rate, perMs }) => gcra({ limit: rate, window: perMs, burst }),
}

export const oracles: readonly string[] = Object.keys(policies)

export function scripts(oracle: string): Script[] {
  const file = new URL(`../golden/oracle-${oracle}.jsonl`, import.meta.url)
  const [, ...lines] = readFileSync(file, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))
  const all: { config: Config; operations: Operation[] }[] = []
  for (const line of lines) {
    if (line.type === 'config') all.push({ config: line, operations: [] })
    else all.at(-1)?.operations.push(line)
  }
  return all.flatMap(({ config, operations }) => {
    const policy = (policies[oracle] as (config: Config) => Policy | undefined)(config)
    return policy ? [{ id: config.id, policy, operations }] : []
  })
}
