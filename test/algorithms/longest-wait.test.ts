/* The column "longest `retryAfter`" of docs/algorithms.md: random calls reach it, and none has to wait longer. */
import { readFileSync } from 'node:fs'
import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  concurrency,
  counter,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { seededRandom } from '../support/seeded-random.ts'

interface Numbers {
  readonly limit: number
  readonly window: number
  readonly cost: number
}

interface Row {
  readonly policy: (limit: number, window: string) => Policy
  /** The text of the column. */
  readonly text: string
  readonly longest: (numbers: Numbers) => number
}

const day = 86_400_000
const ofWindow = { text: '`window`', longest: ({ window }: Numbers) => window }
/** After a call of the cost `limit`, which is the largest here. */
const ofSmooth = '`per` / `rate` for each unit of the call before; up to `coldFactor` times as long while cold'

const rows: Readonly<Record<string, Row>> = {
  '`slidingWindow` (default)': {
    policy: (limit, window) => slidingWindow({ limit, window }),
    text: '`window` x (1 + `cost` / `limit`)',
    longest: ({ limit, window, cost }) => window + (window * cost) / limit,
  },
  '`fixedWindow`': { policy: (limit, window) => fixedWindow({ limit, window }), ...ofWindow },
  "`fixedWindow({ align: 'first-request' })`": {
    policy: (limit, window) => fixedWindow({ limit, window, align: 'first-request' }),
    ...ofWindow,
  },
  '[`calendarWindow`](quotas.md)': {
    policy: (limit) => calendarWindow({ limit, every: 'day' }),
    text: 'the longest window, such as 31 days',
    longest: () => day,
  },
  '`segmentedWindow({ segments: 10 })`': {
    policy: (limit, window) => segmentedWindow({ limit, window, segments: 10 }),
    text: '`window` x (1 + 1 / `segments`)',
    longest: ({ window }) => window + window / 10,
  },
  '`slidingLog`': { policy: (limit, window) => slidingLog({ limit, window }), ...ofWindow },
  '`tokenBucket`, `leakyBucket`, `gcra`': {
    policy: (limit, window) => tokenBucket({ limit, window }),
    text: '`window` x `cost` / `limit`',
    longest: ({ limit, window, cost }) => (window * cost) / limit,
  },
  "`tokenBucket({ refill: 'interval' })`": {
    policy: (limit, window) => tokenBucket({ limit, window, burst: limit + 2, refill: 'interval' }),
    text: '`window` for each `limit` units of the cost',
    longest: ({ limit, window, cost }) => window * Math.ceil(cost / limit),
  },
  '`concurrency`': {
    policy: (limit, lease) => concurrency({ limit, lease }),
    text: '`lease`',
    longest: ofWindow.longest,
  },
  '`counter`': { policy: (_limit, window) => counter({ window }), text: '0', longest: () => 0 },
  '`smoothBursty`, `smoothWarmingUp`': {
    policy: (rate, per) => smoothBursty({ rate, per }),
    text: ofSmooth,
    longest: ({ window }) => window,
  },
}

/** The longest wait that random calls are told, for each cost. */
function longestWaits(policy: Policy, window: number, costs: readonly number[]): Record<number, number> {
  const clock = new ManualClock(Date.UTC(2026, 0, 1))
  const limiter = new RateLimiter({ policies: policy, store: memoryStore({ clock: clock.now }) })
  const random = seededRandom(7)
  const ask = (key: string, cost: number) => limiter.consumeSync(key, { cost }).retryAfter
  // The longest wait is that of a key which has used everything at the start of a window.
  for (let n = 0; n < 10; n++) ask('spent', 1)
  const longest = Object.fromEntries(costs.map((cost) => [cost, ask('spent', cost)]))
  for (let n = 0; n < 3000; n++) {
    const choice = random(20)
    if (choice < 3) clock.advance(random(Math.ceil(window * 2.2)))
    else if (choice < 8) clock.advance(1 + random(3))
    const cost = costs[random(costs.length)] as number
    longest[cost] = Math.max(longest[cost] as number, ask('random', cost))
  }
  return longest
}

const page = readFileSync(new URL('../../docs/algorithms.md', import.meta.url), 'utf8')
const table = page.slice(page.indexOf('| algorithm | never'), page.indexOf('\n\n', page.indexOf('| algorithm | never')))
const cells = table.split('\n').map((line) => line.slice(2, -2).split(' | '))

test('the page has each row, and no other', () => {
  const column = cells[0]?.indexOf('longest `retryAfter`') as number
  const written = Object.fromEntries(cells.slice(2).map((cell) => [cell[0], cell[column]]))
  expect(written).toEqual(Object.fromEntries(Object.entries(rows).map(([name, { text }]) => [name, text])))
})

test.each(Object.entries(rows))('%s', (name, { policy, longest }) => {
  for (const [limit, window] of [
    [1, 60],
    [3, 100],
    [7, 100],
  ] as const) {
    const isDay = name.includes('calendar')
    const costs = [...new Set([1, limit, ...(name.includes('interval') ? [limit + 2] : [])])]
    const expected = costs.map((cost) => [cost, Math.ceil(Number(longest({ limit, window, cost }).toFixed(6)))])
    const found = longestWaits(policy(limit, `${window}ms`), isDay ? day : window, costs)
    expect(found).toEqual(Object.fromEntries(expected))
  }
})

test('smoothWarmingUp: a cold unit makes the next call wait for coldFactor units', () => {
  const cold = smoothWarmingUp({ rate: 1, per: '100ms', warmup: '100s', coldFactor: 4 })
  const found = longestWaits(cold, 100, [1])[1] as number
  expect(found).toBeLessThanOrEqual(400)
  expect(found).toBeGreaterThan(390)
})
