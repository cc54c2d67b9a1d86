import { describe, expect, test } from 'vitest'
import { fixedWindow, slidingLog, tokenBucket } from '../../../src/index.ts'
import { ServerQuotas } from '../../../src/pacer/fetch/server-quotas.ts'
import { type PacedFetchOptions, Pacer, pacedFetch, parseRateLimit } from '../../../src/pacer/index.ts'
import { KeyMap } from '../../../src/pacer/key-map.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { type Random, seededRandom } from '../../support/seeded-random.ts'
import { Timeline } from '../timeline.ts'

const start = Date.UTC(2026, 0, 1)
const url = 'http://localhost/'
/** These let everything through, so that only the server's numbers hold a call. */
const requests = slidingLog({ name: 'requests', limit: 10_000, window: '1s' })
const tokens = tokenBucket({ name: 'tokens', limit: 1_000_000, window: '1s' })

type Reply = Record<string, string>

/** A server that sends these fields, one response after the other. The body of a request is its cost: `send('A', 300)`. */
function site(replies: Reply[], options: Partial<PacedFetchOptions> = {}, policies = [requests, tokens]) {
  const timeline = new Timeline(start)
  const { clock, sleeper } = timeline
  const pacer = new Pacer({ policies, clock: clock.now, sleeper })
  /** The costs of the requests in the order in which the server gets them. */
  const sent: number[] = []
  const cost = (_: unknown, init?: RequestInit) => Number(init?.body ?? 1)
  const server = (async (input: unknown, init?: RequestInit) => {
    sent.push(cost(input, init))
    const { status = '200', after = '0', ...headers } = replies.shift() ?? {}
    if (after !== '0') await new Promise<void>((resolve) => sleeper(Number(after), resolve))
    return new Response('', { status: Number(status), headers })
  }) as typeof fetch
  const now = () => clock.milliseconds
  const get = pacedFetch(server, { pacer, cost, random: () => 0, now, ...options })
  const send = (name: string, body = 1) => timeline.write(name, get(url, { method: 'POST', body: String(body) }))
  return { timeline, pacer, get, send, sent }
}

const left = (remaining: number, reset: string): Reply => ({
  'x-ratelimit-remaining-tokens': String(remaining),
  'x-ratelimit-reset-tokens': reset,
})

describe('a policy follows the quota of its name', () => {
  test.each<[string, Reply, number]>([
    ['OpenAI', left(0, '1.5s'), 1500],
    [
      'Anthropic',
      { 'anthropic-ratelimit-tokens-remaining': '0', 'anthropic-ratelimit-tokens-reset': '2026-01-01T00:00:04Z' },
      4000,
    ],
    ['Mistral, which names no time', { 'x-ratelimit-remaining-tokens-minute': '0' }, 60_000],
    ['Mistral, before', { 'ratelimitbysize-remaining': '0', 'ratelimitbysize-reset': '28' }, 28_000],
    ['a draft with that name', { ratelimit: '"tokens";r=0;t=3', 'ratelimit-policy': '"tokens";q=9;qu="x"' }, 3000],
    ['a draft with that unit', { ratelimit: '"day";r=0;t=3', 'ratelimit-policy': '"day";q=9;qu="tokens"' }, 3000],
    ['a draft without a time', { ratelimit: '"tokens";r=0', 'ratelimit-policy': '"tokens";q=9;w=20' }, 20_000],
    ['neither a time nor a window', { 'x-ratelimit-remaining-tokens': '0' }, 1000],
    ['a malformed time', left(0, '6m0sx'), 1000],
    ['a time that is far away', left(0, '2000000h'), 300_000],
    ['a date that is far away', left(0, '9999-12-31T23:59:59Z'), 300_000],
    ['a number without end', left(0, '9'.repeat(10_000)), 300_000],
    ['requests', { 'x-ratelimit-remaining-requests': '0', 'x-ratelimit-reset-requests': '120ms' }, 120],
    [
      'another unit',
      {
        'anthropic-ratelimit-output-tokens-remaining': '0',
        'anthropic-ratelimit-output-tokens-reset': '2026-01-01T00:00:04Z',
      },
      0,
    ],
    ['no number', left(Number.NaN, '5s'), 0],
    ['a number below 0', left(-1, '5s'), 0],
  ])('nothing is sent until its end when nothing is left: %s', async (_, reply, until) => {
    const { timeline, send } = site([reply])
    send('A')
    await timeline.pass(0)
    send('B')
    expect(await timeline.read(1e9)).toBe(`A+0 B+${until}`)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('a request that takes more than is left waits, and a smaller one does not overtake it', async () => {
    const { timeline, send, sent } = site([left(500, '2s'), left(400, '1s')])
    send('A', 100)
    await timeline.pass(0)
    send('B', 101)
    await timeline.pass(500)
    send('C', 401)
    await timeline.pass(0)
    send('D', 102)
    expect((await timeline.read()).split(' ').toSorted()).toEqual(['A+0', 'B+0', 'C+1000', 'D+1000'])
    expect(sent).toEqual([100, 101, 401, 102])
  })

  test('it waits for maxHold at most, however far away the time is', async () => {
    const { timeline, send } = site([left(500, '2000000h')], { maxHold: '10s' })
    send('A')
    await timeline.pass(0)
    send('B', 501)
    expect(await timeline.read(1e9)).toBe('A+0 B+10000')
  })

  test('it is the first one after the wait, for smaller ones could use up what it waits for', async () => {
    const slow = slidingLog({ name: 'tokens', limit: 6, window: '100ms' })
    const { timeline, send } = site([left(5, '1s')], {}, [slow])
    send('A', 6)
    await timeline.pass(0)
    send('B', 6) // its slot comes after 100 ms
    send('C')
    send('D')
    expect(await timeline.read()).toBe('A+0 B+1000 C+1100 D+1100')
  })

  test('nothing left holds all calls of the pacer, and takes no units', async () => {
    const { timeline, pacer, send } = site([{ 'x-ratelimit-remaining-tokens': '0' }])
    send('A')
    await timeline.pass(0)
    timeline.write('B', pacer.acquire())
    expect(await timeline.read()).toBe('A+0 B+1000')
    expect(pacer.progress.cost).toBe(2)
  })

  test('a request that takes no more than is left is sent', async () => {
    const { timeline, send } = site([left(500, '2s')])
    send('A', 100)
    await timeline.pass(0)
    for (const name of 'BCDEF') send(name, 100)
    send('G', 1)
    expect(await timeline.read()).toBe('A+0 B+0 C+0 D+0 E+0 F+0 G+2000')
  })

  test('requests that are under way count as not yet counted by the server', async () => {
    // A is answered first and says that 300 are left. B, C and D may still come off that.
    const { timeline, send } = site([left(300, '5s'), { after: '100' }, { after: '100' }, { after: '100' }])
    for (const name of 'ABCD') send(name, 100)
    await timeline.pass(10)
    send('E', 1)
    expect(await timeline.read()).toBe('A+0 B+100 C+100 D+100 E+5000')
  })

  test('a request is taken off once, however many responses come meanwhile', async () => {
    const replies = [900, 800, 700].map((remaining, n) => ({ ...left(remaining, '9s'), after: `${10 + n}` }))
    const { timeline, send } = site(replies)
    for (const name of 'ABC') send(name, 100)
    await timeline.pass(20)
    send('D', 700)
    await timeline.pass(0)
    send('E', 1)
    expect(await timeline.read()).toBe('A+10 B+11 C+12 D+20 E+9012')
  })

  test('an older response that arrives late gives nothing back', async () => {
    const replies = [left(1000, '9s'), { ...left(900, '9s'), after: '50' }, left(500, '9s')]
    const { timeline, send } = site(replies)
    send('A', 100)
    await timeline.pass(0)
    send('B', 100) // its response is older than that of C
    send('C', 400)
    await timeline.pass(60)
    send('D', 501)
    expect(await timeline.read()).toBe('A+0 C+0 B+50 D+9050')
  })

  test('a lower number than expected is believed: others use the quota, too', async () => {
    const { timeline, send } = site([left(1000, '9s'), left(20, '9s')])
    send('A')
    await timeline.pass(0)
    send('B')
    await timeline.pass(0)
    send('C', 21)
    expect(await timeline.read()).toBe('A+0 B+0 C+9000')
  })

  test('requests count as one each, unless a policy follows them', async () => {
    const reply = { 'x-ratelimit-remaining': '2', 'x-ratelimit-reset-after': '3' }
    const alone = site([reply], {}, [tokens])
    for (const name of ['A', 'B', 'C', 'D']) {
      alone.send(name, 50)
      await alone.timeline.pass(0)
    }
    expect(await alone.timeline.read()).toBe('A+0 B+0 C+0 D+3000')
    const points = site([reply], { quotas: { tokens: 'requests' } }, [tokens])
    points.send('A', 50)
    await points.timeline.pass(0)
    points.send('B', 3)
    expect(await points.timeline.read()).toBe('A+0 B+3000')
  })

  test('each key has the quotas of its own', async () => {
    const timeline = new Timeline(start)
    const pacer = timeline.pacer(requests)
    const server = (async () => new Response('', { headers: { ratelimit: '"requests";r=0;t=2' } })) as typeof fetch
    const now = () => timeline.clock.milliseconds
    const get = pacedFetch(server, { pacer, now, key: ({ host }) => host })
    for (const [name, host] of ['AC', 'BD'].map((names, n) => [names, `http://host-${n}/`] as const)) {
      timeline.write(name[0] as string, get(host))
      timeline.write(name[1] as string, get(host))
    }
    expect(await timeline.read()).toBe('A+0 C+0 B+0 D+0')
    timeline.write('E', get('http://host-2/'))
    expect(await timeline.read()).toMatch(/ E\+100000$/)
  })
})

test('a key whose numbers are over is forgotten when other keys come', () => {
  const byKey = new KeyMap<ServerQuotas>()
  let now = 0
  const quotasOf = (key: string) =>
    byKey.of(key, () => new ServerQuotas([{ quota: 'tokens', policy: 'tokens' }], 5000, () => now * 1000))
  const spent = parseRateLimit(left(0, '5s'), 0).quotas
  const one = quotasOf('one')
  const first = one.send(1)
  one.note(first, spent, 1000)
  one.end(first)
  const two = quotasOf('two')
  const second = two.send(1)
  now = 4999
  quotasOf('three')
  expect(quotasOf('one')).toBe(one)
  now = 9000
  quotasOf('four')
  expect(quotasOf('two')).toBe(two) // its request is under way
  two.end(second)
  for (const key of ['five', 'six', 'seven']) quotasOf(key)
  expect(quotasOf('one')).not.toBe(one)
  expect(quotasOf('two')).not.toBe(two)
})

test('a refusal waits for whatever is spent, also for units that no policy follows', async () => {
  const output = {
    'anthropic-ratelimit-output-tokens-remaining': '0',
    'anthropic-ratelimit-output-tokens-reset': '2026-01-01T00:00:04Z',
  }
  const { timeline, get } = site([{ status: '429', ...output }])
  timeline.write('A', get(url))
  expect(await timeline.read()).toBe('A+4000')
})

describe('a cost for each policy', () => {
  const cost = (_: unknown, init?: RequestInit) => ({ requests: 1, tokens: Number(init?.body ?? 0) })
  const both = (requests: number, tokens: number): Reply => ({
    'x-ratelimit-remaining-requests': String(requests),
    'x-ratelimit-reset-requests': '3s',
    ...left(tokens, '1s'),
  })

  test('each unit follows its own quota', async () => {
    const { timeline, send } = site([both(2, 300), both(1, 200), both(9, 9000), both(9, 9000)], { cost })
    send('A', 100)
    await timeline.pass(0)
    send('B', 100) // one request of 2, and 100 tokens of 300
    await timeline.pass(0)
    send('C', 201) // one token too many
    expect(await timeline.read()).toBe('A+0 B+0 C+1000')
  })

  test('requests wait for requests, whatever is left of the tokens', async () => {
    const { timeline, send } = site([both(1, 9000), { after: '50' }], { cost })
    send('A', 1)
    await timeline.pass(0)
    send('B', 1)
    await timeline.pass(10)
    send('C', 1)
    expect(await timeline.read()).toBe('A+0 B+50 C+3000')
  })

  test('the pace counts each unit too', async () => {
    const few = [slidingLog({ name: 'requests', limit: 2, window: '1s' }), tokens]
    const { timeline, send } = site([], { cost }, few)
    for (const name of 'ABC') send(name, 500_000)
    expect(await timeline.read()).toBe('A+0 B+0 C+1000')
  })
})

test('a clock that goes back holds no request for longer than maxHold', async () => {
  let behind = 0
  const timeline = new Timeline(start)
  const replies: Reply[] = [left(5, '60s')]
  const server = (async () => new Response('', { headers: replies.shift() ?? {} })) as typeof fetch
  const { clock, sleeper } = timeline
  const pacer = new Pacer(tokens, { clock: () => clock.now() - behind, sleeper })
  const get = pacedFetch(server, { pacer, cost: 6, random: () => 0 })
  timeline.write('A', get(url))
  await timeline.pass(0)
  behind = 1e15 // microseconds
  timeline.write('B', get(url))
  expect(await timeline.read(0)).toBe('A+0 B+0')
})

test.each<[string, Reply]>([
  ['a response without remaining units', left(0, '1h')],
  ['a response with fewer units than the next call takes', left(5, '1h')],
  ['a refusal', { status: '429', 'retry-after': '3600' }],
])('the clock of the pacer times the wait after %s', async (_, reply) => {
  const clock = new ManualClock()
  const pacer = new Pacer(tokens, { clock: clock.now, sleeper: clock.sleeper })
  const replies = [reply]
  const server = (async () => {
    const { status = '200', ...headers } = replies.shift() ?? {}
    return new Response('', { status: Number(status), headers })
  }) as typeof fetch
  const get = pacedFetch(server, { pacer, cost: 6, retries: 0, maxHold: '2h', random: () => 0 })
  await get(url)
  const began = clock.milliseconds
  const waited = get(url).then(() => clock.milliseconds - began)
  await clock.pass('2h')
  expect(await waited).toBe(3_600_000)
})

test('the signal ends the wait for the server', async () => {
  const { timeline, get } = site([left(5, '60s')])
  timeline.write('A', get(url))
  await timeline.pass(0)
  const controller = new AbortController()
  timeline.write('B', get(url, { method: 'POST', body: '6', signal: controller.signal }))
  await timeline.pass(1000)
  controller.abort('enough')
  expect(await timeline.read()).toBe('A+0 B!enough+1000')
  expect(timeline.sleeps.size).toBe(0)
})

test.each([
  [{ cost: 0 }, 'HEADGATE_COST'],
  [{ cost: 1.5 }, 'HEADGATE_COST'],
  [{ cost: Number.NaN }, 'HEADGATE_COST'],
  [{ cost: '1' }, 'HEADGATE_COST'],
  [{ cost: { requests: 1 } }, 'HEADGATE_COST'],
  [{ cost: { tokens: 0.5 } }, 'HEADGATE_COST'],
  [{ cost: {} }, 'HEADGATE_COST'],
  [{ quotas: 'tokens' }, 'HEADGATE_OPTION'],
  [{ quotas: ['tokens'] }, 'HEADGATE_OPTION'],
  [{ quotas: { token: 'tokens' } }, 'HEADGATE_OPTION'],
  [{ quotas: { tokens: 1 } }, 'HEADGATE_OPTION'],
  [{ quotas: { tokens: '' } }, 'HEADGATE_OPTION'],
  [{ quotas: { tokens: null } }, 'HEADGATE_OPTION'],
  [{ key: 'host' }, 'HEADGATE_OPTION'],
  [{ now: 0 }, 'HEADGATE_OPTION'],
  [{ random: 0.5 }, 'HEADGATE_OPTION'],
])('invalid options are refused: %j', (options, code) => {
  const pacer = new Pacer(tokens)
  expect(() => pacedFetch(fetch, { pacer, ...options } as never)).toThrow(expect.objectContaining({ code }))
})

test.each([0, -1, 1.5, Number.NaN, '3', undefined])(
  'a cost of %s rejects the request, and nothing is sent',
  async (cost) => {
    const { timeline, get } = site([], { cost: () => cost as number })
    timeline.write('A', get(url))
    // Left out, it is 1.
    expect(await timeline.read()).toBe(cost === undefined ? 'A+0' : 'A!HEADGATE_COST+0')
  },
)

/** A server with a limit in fixed windows. A request takes some time to reach it, and its response to come back. */
function randomServer(timeline: Timeline, random: Random, limit: number, window: number) {
  let ends = 0
  const seen = { used: 0, refused: 0, windows: 0 }
  const delay = () => new Promise<void>((resolve) => timeline.sleeper(random(300), resolve))
  const fetch = async (_: unknown, init?: RequestInit) => {
    await delay()
    const now = timeline.clock.milliseconds
    if (now >= ends) [ends, seen.used, seen.windows] = [now + window, 0, seen.windows + 1]
    const allowed = seen.used + Number(init?.body) <= limit
    if (allowed) seen.used += Number(init?.body)
    else seen.refused++
    const headers = left(limit - seen.used, `${ends - now}ms`)
    await delay()
    return new Response('', { status: allowed ? 200 : 429, headers })
  }
  return { seen, fetch: fetch as typeof globalThis.fetch }
}

test('who is alone is never refused, however long requests and responses take', async () => {
  for (let seed = 1; seed <= 30; seed++) {
    const random = seededRandom(seed)
    const timeline = new Timeline(start)
    const concurrency = 1 + random(8)
    const { seen, fetch } = randomServer(timeline, random, concurrency * 10 + random(300), 2000 + random(5000))
    const pacer = timeline.pacer(tokens, { concurrency })
    const now = () => timeline.clock.milliseconds
    const get = pacedFetch(fetch, { pacer, now, cost: (_, init) => Number(init?.body) })
    for (let n = 0; n < 200; n++) timeline.write(`${n}`, get(url, { method: 'POST', body: String(1 + random(10)) }))
    await timeline.pass(10_000_000)
    expect({ seed, refused: seen.refused, answers: timeline.events.length }).toEqual({ seed, refused: 0, answers: 200 })
    expect(seen.windows).toBeGreaterThan(1)
  }
})

test('a quota that is shared with others is not exceeded by requests that the server has yet to count', async () => {
  const policy = fixedWindow({ name: 'tokens', limit: 10_000, window: '1s' })
  const { timeline, send } = site([left(100, '9s'), { ...left(10, '9s'), after: '5' }, { after: '50' }], {}, [policy])
  send('A')
  await timeline.pass(0)
  send('B', 1)
  send('C', 8)
  await timeline.pass(10)
  send('D', 3) // of the 10 that B's response names, C may take 8
  expect(await timeline.read()).toBe('A+0 B+5 C+50 D+9005')
})
