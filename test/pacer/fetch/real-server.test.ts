import { Agent, createServer, get as httpGet, type IncomingMessage, type OutgoingHttpHeaders } from 'node:http'
import type { AddressInfo } from 'node:net'
import { PassThrough } from 'node:stream'
import { afterEach, describe, expect, test } from 'vitest'
import { slidingLog, tokenBucket } from '../../../src/index.ts'
import { Pacer, pacedFetch } from '../../../src/pacer/index.ts'

const closers: (() => void)[] = []
afterEach(() => {
  for (const close of closers.splice(0)) close()
})

/** A server on a free port. */
async function serve(
  answer: (request: IncomingMessage) => [status: number, headers: OutgoingHttpHeaders],
  body: string = 'answer',
) {
  const server = createServer((request, response) => {
    request.resume().on('end', () => response.writeHead(...answer(request)).end(body))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  closers.push(() => {
    server.closeAllConnections()
    server.close()
  })
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

/** These let everything through, so that only the server's numbers hold a call. */
const policies = () => [
  slidingLog({ name: 'requests', limit: 10_000, window: '1s' }),
  tokenBucket({ name: 'tokens', limit: 1_000_000, window: '1s' }),
]

interface Left {
  readonly requests: number
  readonly tokens: number
  readonly ends: number
}

/** An API that counts requests and tokens in windows, and says what is left as a provider does. */
function model(
  limits: { requests: number; tokens: number },
  window: number,
  fieldsOf: (left: Left) => OutgoingHttpHeaders,
) {
  const used = { requests: 0, tokens: 0 }
  const seen = { refused: 0, admitted: 0, windows: 0 }
  let ends = 0
  const answer = ({ headers }: IncomingMessage): [number, OutgoingHttpHeaders] => {
    const now = Date.now()
    if (now >= ends) {
      Object.assign(used, { requests: 0, tokens: 0 })
      ends = now + window
      seen.windows++
    }
    const cost = Number(headers['x-tokens'])
    const allowed = used.requests < limits.requests && used.tokens + cost <= limits.tokens
    seen[allowed ? 'admitted' : 'refused']++
    if (allowed) used.requests++
    if (allowed) used.tokens += cost
    const left = { requests: limits.requests - used.requests, tokens: limits.tokens - used.tokens, ends }
    return [allowed ? 200 : 429, fieldsOf(left)]
  }
  return { seen, answer }
}

const providers: [name: string, fields: (left: Left) => OutgoingHttpHeaders][] = [
  [
    'OpenAI',
    ({ requests, tokens, ends }) => ({
      'x-ratelimit-remaining-requests': requests,
      'x-ratelimit-reset-requests': `${ends - Date.now()}ms`,
      'x-ratelimit-remaining-tokens': tokens,
      'x-ratelimit-reset-tokens': `${(ends - Date.now()) / 1000}s`,
    }),
  ],
  [
    'Anthropic',
    ({ requests, tokens, ends }) => ({
      'anthropic-ratelimit-requests-remaining': requests,
      'anthropic-ratelimit-requests-reset': new Date(ends).toISOString(),
      'anthropic-ratelimit-tokens-remaining': tokens,
      'anthropic-ratelimit-tokens-reset': new Date(ends).toISOString(),
    }),
  ],
  [
    'Mistral, as it was',
    ({ requests, tokens, ends }) => ({
      'x-ratelimit-remaining': requests,
      'x-ratelimit-reset-after': (ends - Date.now()) / 1000,
      'ratelimitbysize-remaining': tokens,
      'ratelimitbysize-reset': (ends - Date.now()) / 1000,
    }),
  ],
]

describe('a real server is never asked for more than it says', () => {
  test.each(providers)('%s', async (_, fields) => {
    const { seen, answer } = model({ requests: 60, tokens: 100 }, 400, fields)
    const url = await serve(answer)
    const cost = (_input: unknown, init?: RequestInit) => Number(new Headers(init?.headers).get('x-tokens'))
    const get = pacedFetch(fetch, { pacer: new Pacer({ policies: policies(), concurrency: 4 }), cost, retries: 0 })
    const calls = Array.from({ length: 60 }, (_, n) => get(url, { headers: { 'x-tokens': String(1 + (n % 7)) } }))
    const statuses = (await Promise.all(calls)).map(({ status }) => status)
    expect(new Set(statuses)).toEqual(new Set([200]))
    expect(seen).toMatchObject({ admitted: 60, refused: 0 })
    expect(seen.windows).toBeGreaterThanOrEqual(3) // 236 tokens, 100 for each window
  })
})

test('Retry-After-Ms of a refusal is obeyed to the millisecond, and not Retry-After', async () => {
  const times: number[] = []
  const url = await serve(() => {
    times.push(performance.now())
    return times.length === 1 ? [429, { 'retry-after-ms': '150', 'retry-after': '60' }] : [200, {}]
  })
  const get = pacedFetch(fetch, { pacer: new Pacer({ policies: policies() }), random: () => 0 })
  expect((await get(url)).status).toBe(200)
  const [refused = 0, admitted = 0] = times
  expect(admitted - refused).toBeGreaterThanOrEqual(150)
  expect(admitted - refused).toBeLessThan(5000)
})

test('a refusal with a large body leaves its connection to the next attempt, also with a body as node-fetch has it', async () => {
  let requests = 0
  const url = await serve(
    () => (++requests === 1 ? [429, { 'retry-after-ms': '10' }] : [200, {}]),
    'x'.repeat(1_000_000),
  )
  const agent = new Agent({ keepAlive: true, maxSockets: 1 })
  closers.push(() => agent.destroy())
  const nodeFetch = (to: unknown) =>
    new Promise((resolve, reject) => {
      const done = (from: IncomingMessage) =>
        resolve({
          status: from.statusCode,
          headers: new Headers(from.headers as never),
          body: from.pipe(new PassThrough()),
        })
      httpGet(String(to), { agent }, done).on('error', reject)
    })
  const get = pacedFetch(nodeFetch as typeof fetch, { pacer: new Pacer({ policies: policies() }), random: () => 0 })
  expect((await get(url)).status).toBe(200)
  expect(requests).toBe(2)
})

test('absurd fields hold a request for maxHold at most', async () => {
  const absurd = {
    'x-ratelimit-remaining-tokens': '0, 0',
    'x-ratelimit-reset-tokens': '9'.repeat(5000),
    'anthropic-ratelimit-requests-remaining': '0',
    'anthropic-ratelimit-requests-reset': '9999-12-31T23:59:59Z',
    'x-ratelimit-remaining': '-0',
    'x-ratelimit-reset-after': '1e400',
    ratelimit: '"requests";r=0;t=999999999999999',
  }
  const url = await serve(() => [200, absurd])
  const get = pacedFetch(fetch, { pacer: new Pacer({ policies: policies() }), maxHold: '100ms' })
  const before = performance.now()
  for (let n = 0; n < 4; n++) expect((await get(url)).status).toBe(200)
  expect(performance.now() - before).toBeGreaterThanOrEqual(300)
  expect(performance.now() - before).toBeLessThan(5000)
})
