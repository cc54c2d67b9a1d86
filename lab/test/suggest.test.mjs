import { expect, test } from 'vitest'
import * as plain from './support/plain-counts.mjs'
import { madeLog, resultOf, runLab } from './support/run-lab.mjs'

const seconds = { '1s': 1, '10s': 10, '1m': 60, '15m': 900, '1h': 3600, '1d': 86_400 }
const requests = plain.requestsOf(madeLog)

test('a suggested limit is the least one that affects few enough clients', async () => {
  const { windows } = await resultOf(['suggest', madeLog, '--affect', '5%', '--refuse', '100%'])
  for (const { window, suggested } of windows) {
    const { limit, refused, clientsAffected } = suggested
    expect(plain.slidingWindow(requests, limit, seconds[window])).toEqual({ refused, affected: clientsAffected })
    expect(clientsAffected).toBeLessThanOrEqual(4)
    if (limit > 1) expect(plain.slidingWindow(requests, limit - 1, seconds[window]).affected).toBeGreaterThan(4)
  }
})

test('a suggested burst is the least one that affects few enough clients', async () => {
  const { windows } = await resultOf(['suggest', madeLog, '--affect', '5%', '--refuse', '100%'])
  for (const { window, suggested } of windows) {
    const { limit, burst } = suggested
    expect(plain.tokenBucket(requests, limit, seconds[window], burst).affected).toBeLessThanOrEqual(4)
    if (burst > 1) expect(plain.tokenBucket(requests, limit, seconds[window], burst - 1).affected).toBeGreaterThan(4)
  }
})

test('a suggested limit stays within the share of requests too, and the next lower one does not', async () => {
  const { windows, verdict } = await resultOf(['suggest', madeLog, '--affect', '100%', '--refuse', '2%'])
  const most = 0.02 * requests.length
  for (const { window, suggested } of windows) {
    expect(suggested.refused).toBeLessThanOrEqual(most)
    expect(plain.slidingWindow(requests, suggested.limit - 1, seconds[window]).refused).toBeGreaterThan(most)
  }
  const { refused, affected } = plain.slidingWindow(requests, verdict.limit, seconds[verdict.window])
  expect([verdict.refused, verdict.clientsAffected]).toEqual([refused, affected])
  expect(verdict.limit).toBeGreaterThanOrEqual(windows.find(({ window }) => window === verdict.window).suggested.limit)
})

test('every cell of the grid is what that limit refuses', async () => {
  const { grid } = await resultOf(['suggest', madeLog])
  const cells = grid.flatMap(({ limit, windows }) => windows.map((cell) => ({ limit, ...cell })))
  const expected = cells.map(({ limit, window }) => plain.slidingWindow(requests, limit, seconds[window]))
  expect(cells.map(({ refused, clientsAffected }) => ({ refused, affected: clientsAffected }))).toEqual(expected)
})

test('the busiest windows of clients, by quantiles', async () => {
  const { windows } = await resultOf(['suggest', madeLog])
  const times = [...new Set(requests.map(({ client }) => client))].map((name) =>
    requests.filter(({ client }) => client === name),
  )
  const counts = (window) =>
    times.map((own) =>
      Math.max(
        ...own.map(({ second: end }) => own.filter(({ second }) => second > end - window && second <= end).length),
      ),
    )
  for (const { window, quantiles } of windows) {
    const sorted = counts(seconds[window]).sort((a, b) => a - b)
    expect([quantiles.p50, quantiles.p90, quantiles.max]).toEqual([sorted[39], sorted[71], sorted[79]])
  }
})

const line = (n, { client = '198.51.100.1', status = 200, agent = 'curl', route = '/' } = {}) =>
  `{"ts":${1772701687 + n},"ip":"${client}","status":${status},"method":"GET","path":"${route}","agent":"${agent}"}\n`
const hour = Array.from({ length: 3000 }, (_, n) => line(n * 30.5))

test.each([
  [
    'many users',
    Array.from({ length: 20 }, (_, n) => line(n, { agent: `agent ${n}` })),
    /1 client has 20 agents or more/,
  ],
  ['retries', Array.from({ length: 20 }, (_, n) => line(n * 1.5, { status: 500 })), /19 requests are retries/],
  ['limits', Array.from({ length: 20 }, (_, n) => line(n * 100, { status: 429 })), /20 responses are 429/],
  ['whole seconds', [line(1)], /whole seconds only/],
  ['a short log', [line(1)], /shorter than 6 of the windows/],
])('a caution about %s', async (_name, lines, expected) => {
  const { stdout } = await runLab(['suggest', '-'], lines.join(''))
  expect(stdout).toMatch(expected)
})

test('no caution about a day of ordinary traffic', async () => {
  const { cautions } = await resultOf(['suggest', '-'], hour.join(''))
  expect(cautions).toEqual([])
})

const client = (n, requests, each) =>
  Array.from({ length: requests }, (_, k) => line(n + k, { client: `198.51.100.${n}`, ...each(k) }))

test.each([
  ['a crawler', () => ({ agent: 'ExampleBot/2.1' }), 'a crawler (ExampleBot/2.1)'],
  ['a script', () => ({ agent: 'python-requests/2' }), 'a script (python-requests/2)'],
  ['an office', (k) => ({ agent: `Mozilla/5.0 (${k % 30})` }), 'many users behind one address (30 user agents)'],
  [
    'an attacker',
    () => ({ agent: 'Mozilla/5.0', status: 401 }),
    'an attacker or a scanner (401, 403 or 404 for most requests)',
  ],
  ['a poller', () => ({ agent: 'Mozilla/5.0', route: '/inbox' }), 'a program that polls GET /inbox'],
  ['a busy user', (k) => ({ agent: 'Mozilla/5.0', route: `/${k}` }), 'a busy user (Mozilla/5.0)'],
])('the verdict names %s among those that it would have refused', async (_, each, looksLike) => {
  const others = Array.from({ length: 20 }, (_, n) => client(n + 2, 5, () => ({ agent: 'Mozilla/5.0' }))).flat()
  const log = [...client(1, 200, each), ...others].join('')
  const { verdict } = await resultOf(['suggest', '-', '--affect', '10%', '--refuse', '50%'], log)
  expect(verdict.clients.map(({ name, looksLike }) => [name, looksLike])).toEqual([['198.51.100.1', looksLike]])
})

test.each([
  ['express', /app\.use\(rateLimit\('\d+\/1m'\)\)/],
  ['fastify', /await app\.register\(rateLimit\('\d+\/1m'\)\)/],
  ['nest', /RateLimitModule\.forRoot\('\d+\/1m'\)/],
])('the verdict is code for %s', async (framework, expected) => {
  const { stdout } = await runLab(['suggest', madeLog, '--framework', framework])
  expect(stdout.slice(stdout.indexOf('Verdict: start with'))).toMatch(expected)
})
