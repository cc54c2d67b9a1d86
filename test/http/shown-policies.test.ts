import { describe, expect, test } from 'vitest'
import { withLimit } from '../../src/algorithms/index.ts'
import { calendarWindow } from '../../src/calendar/index.ts'
import { createGuard } from '../../src/http.ts'
import {
  concurrency,
  counter,
  type Decision,
  fixedWindow,
  gcra,
  leakyBucket,
  memoryStore,
  type Policy,
  policy,
  RateLimiter,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { contract, midnight, stillStore } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { PlainResponse, plainFramework } from '../support/plain-framework.ts'

/* What responses show of several policies: a policy that none shows, the policy of the legacy fields, a shorter wait. */

const minute = fixedWindow({ name: 'minute', limit: 9, window: '1m' })
const hidden = fixedWindow({ name: 'internal', limit: 1, window: '1h', listed: false })
const dialects = ['legacy', 'draft-6', 'draft-7', 'draft-8', 'draft-11'] as const
const fieldsOf = (headers: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(headers).filter(([name]) => /rate-?limit/i.test(name)))

/** Asks a limit `requests` times, and returns the last response. */
async function ask(limit: object, requests = 1, headers: Record<string, string> = {}) {
  const guard = createGuard(plainFramework, { keys: () => 'k', ...limit } as never)
  let response = new PlainResponse()
  for (let n = 0; n < requests; n++) {
    response = new PlainResponse()
    await guard.check({ headers }, response)
  }
  return response
}

contract((app) => {
  test('a policy that is not listed refuses without its name and its numbers', async () => {
    for (const problem of [false, true]) {
      const policies = [minute, hidden]
      const { url } = await app({ policies, problem, headers: [...dialects], store: stillStore().store })
      const admitted = await get(url)
      const refused = await get(url, { accept: 'application/json' })
      expect([admitted.status, refused.status, refused.headers['retry-after']]).toEqual([200, 429, '3600'])
      for (const { headers } of [admitted, refused]) {
        expect(fieldsOf(headers)).toEqual({
          'x-ratelimit-limit': '9',
          'x-ratelimit-remaining': '8',
          'x-ratelimit-reset': `${midnight / 1000 + 60}`,
          'ratelimit-policy': '"minute";q=9;w=60',
          'ratelimit-limit': '9',
          'ratelimit-remaining': '8',
          'ratelimit-reset': '60',
          ratelimit: '"minute";r=8;t=60',
        })
      }
      const body = JSON.parse(refused.body)
      if (problem) expect(body).toMatchObject({ status: 429, 'violated-policies': [] })
      else expect(body).toMatchObject({ error: 'too_many_requests', policy: null, retryAfter: 3600 })
      expect(refused.body).not.toContain('internal')
    }
  })
})

describe('listed: false', () => {
  test.each(dialects)('no field of %s is left if no policy is listed', async (headers) => {
    const response = await ask({ policies: hidden, headers }, 2)
    expect([response.statusCode, fieldsOf(response.headers)]).toEqual([429, {}])
  })

  test.each([
    ['another policy too', [fixedWindow({ name: 'day', limit: 1, window: '1d' }), hidden], 'day', ['day']],
    ['a shadow', [fixedWindow({ name: 'day', limit: 1, window: '1d', shadow: true }), hidden], null, []],
    ['a limit of 0', [minute, tokenBucket({ name: 'none', limit: 0, window: '1h', listed: false })], null, []],
  ])('%s refuses', async (_name, policies, policy, violated) => {
    const json = await ask({ policies }, 2, { accept: 'application/json' })
    expect(JSON.parse(json.body as string).policy).toBe(policy)
    const problem = await ask({ policies, problem: true }, 2)
    expect(JSON.parse(problem.body as string)['violated-policies']).toEqual(violated)
    expect(problem.body).not.toMatch(/internal|none|admits nobody|costs more/)
  })

  test('of a list of costs, the legacy fields show the policy that admitted the request', async () => {
    const own = fixedWindow({ name: 'own', limit: 1, window: '1d' })
    const address = fixedWindow({ name: 'address', limit: 99, window: '1m', listed: false })
    const cost = [
      { own: 1, minute: 0, address: 1 },
      { own: 0, minute: 1, address: 1 },
    ]
    const { headers } = await ask({ policies: [own, minute, address], cost }, 2)
    expect([headers['X-RateLimit-Limit'], headers['X-RateLimit-Remaining']]).toEqual(['9', '8'])
  })

  test('a ban by hand is named, and so is a penalty', async () => {
    const store = memoryStore()
    const penalty = { after: 1, within: '1h', ban: '2h' }
    const limiter = new RateLimiter({ policies: [minute, hidden], store, penalty })
    const named = async () =>
      JSON.parse((await ask({ limiter }, 1, { accept: 'application/json' })).body as string).policy
    await ask({ limiter }, 2)
    expect(await named()).toBe('penalty')
    await limiter.ban('k', '3h')
    expect(await named()).toBe('ban')
  })

  test('every constructor takes it, another limit keeps it, and rateLimit takes it too', async () => {
    const windows = [slidingWindow, fixedWindow, segmentedWindow, slidingLog, tokenBucket, leakyBucket, gcra]
    const made = [
      ...windows.map((make) => make({ limit: 5, window: '1m', listed: false })),
      calendarWindow({ limit: 5, every: 'month', listed: false }),
      concurrency({ limit: 5, listed: false, retryAfter: '1s' }),
      smoothBursty({ rate: 5, listed: false }),
      policy('5/1m', { listed: false }),
    ]
    expect(made.map((each) => [each.listed, withLimit(each, 3).listed])).toEqual(made.map(() => [false, false]))
    expect(withLimit(concurrency({ limit: 5, retryAfter: '1s' }), 3).retryAfter).toBe(1000)
    const response = await ask({ limit: 5, window: '1m', listed: false })
    expect(fieldsOf(response.headers)).toEqual({})
    expect(() => fixedWindow({ limit: 1, window: '1m', listed: 'no' as never })).toThrow(/listed must be true or false/)
  })
})

describe('legacy: { policy }', () => {
  const day = fixedWindow({ name: 'day', limit: 5, window: '1d' })
  const headers = (policy?: string) => ({
    dialects: ['legacy', 'draft-8'],
    legacy: policy === undefined ? {} : { policy },
  })
  const numbers = ({ headers: sent }: PlainResponse) =>
    ['Limit', 'Remaining', 'Reset'].map((name) => sent[`X-RateLimit-${name}`])

  test('the fields show that policy, and its own numbers also when another one refuses', async () => {
    const policies = [minute, day]
    const list = '"minute";r=7;t=60, "day";r=3;t=86400'
    const two = await ask({ policies, headers: headers('minute'), store: stillStore().store }, 2)
    expect([numbers(two), two.headers.RateLimit]).toEqual([['9', '7', `${midnight / 1000 + 60}`], list])
    const bound = await ask({ policies, headers: headers(), store: stillStore().store }, 2)
    expect(numbers(bound)).toEqual(['5', '3', `${midnight / 1000 + 86_400}`])
    const refused = await ask({ policies, headers: headers('minute'), store: stillStore().store }, 6)
    expect([refused.statusCode, refused.headers['Retry-After']]).toEqual([429, '86400'])
    expect(numbers(refused)).toEqual(['9', '4', `${midnight / 1000 + 60}`])
  })

  test('a ban, by hand or by a penalty, leaves nothing of it', async () => {
    const limiter = new RateLimiter({
      policies: [minute, day],
      store: stillStore().store,
      penalty: { after: 1, within: '1h', ban: '2d' },
    })
    await limiter.consume('k', { cost: 6 })
    expect(numbers(await ask({ limiter, headers: headers('minute') }))).toEqual([
      '9',
      '0',
      `${midnight / 1000 + 2 * 86_400}`,
    ])
    await limiter.ban('b', '1h')
    const banned = await ask({ limiter, headers: headers('minute'), keys: () => 'b' })
    expect(numbers(banned)).toEqual(['9', '0', `${midnight / 1000 + 3600}`])
  })

  test('under a plan without that policy, the binding policy is shown', async () => {
    const trial = fixedWindow({ name: 'minute', limit: 9, window: '1m', shadow: true })
    for (const plan of [[day], [trial, day]]) {
      expect(numbers(await ask({ policies: () => plan, headers: headers('minute') }))[0]).toBe('5')
    }
  })

  test.each<[string, Policy[], string]>([
    ['hour', [minute, day], 'minute'],
    ['internal', [hidden, day], 'day'],
    ['at-once', [concurrency({ limit: 4 }), day], 'day'],
    ['counter', [counter({ window: '1h' }), day], 'day'],
    ['trial', [fixedWindow({ name: 'trial', limit: 1, window: '1m', shadow: true }), day], 'day'],
  ])('%s is no policy that the fields can show', (policy, policies, right) => {
    expect(() => createGuard(plainFramework, { policies, headers: { legacy: { policy } } })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringContaining(`policy: "${right}"`) }),
    )
  })

  test('a limit that inherits the option may have other policies', async () => {
    const outer = createGuard(plainFramework, { policies: [minute, day], headers: headers('minute') as never })
    const inner = createGuard(plainFramework, { policies: day, keys: () => 'k' }, outer.inherited, 'inherited')
    const response = new PlainResponse()
    await inner.check({}, response)
    expect(numbers(response)[0]).toBe('5')
  })
})

describe('concurrency({ retryAfter })', () => {
  const hinted = (more: object = {}) => concurrency({ limit: 2, lease: '30s', retryAfter: '1s', ...more })

  /** Lets other calls take units, and refuses a request `after` milliseconds later. */
  async function refusal(policies: Policy[], { taken = 2, after = '0ms', ...options }: Record<string, unknown> = {}) {
    const clock = new ManualClock(midnight)
    const limiter = new RateLimiter({ policies, store: memoryStore({ clock: clock.now }) })
    await limiter.reserve('k', { cost: taken as number })
    clock.advance(after as string)
    let exact: Decision | undefined
    const refuse = (decision: Decision) => {
      exact = decision
      return false
    }
    const response = await ask({ limiter, refuse, ...options }, 1, { accept: 'application/json' })
    expect(response.statusCode).toBe(429)
    return {
      told: response.headers['Retry-After'],
      exact: exact?.retryAfter,
      body: JSON.parse(response.body as string),
    }
  }

  test('the client is told that wait, and the decision stays exact', async () => {
    const { told, exact, body } = await refusal([hinted()])
    expect([told, exact]).toEqual(['1', 30_000])
    expect(body).toMatchObject({
      policy: 'at-once',
      retryAfter: 1,
      message: 'Too many requests. Try again in 1 second.',
    })
    const problem = await refusal([hinted({ retryAfter: '1500ms' })], { problem: true })
    expect([problem.told, problem.body.detail]).toEqual(['2', 'Too many requests. Try again in 2 seconds.'])
  })

  test('never longer than the end of the first lease', async () => {
    expect(await refusal([hinted({ retryAfter: '20s' })], { after: '28s' })).toMatchObject({ told: '2', exact: 2000 })
  })

  test('a policy that makes the call wait longer counts, by its own wait', async () => {
    const window = fixedWindow({ name: '10s', limit: 2, window: '10s' })
    expect(await refusal([hinted(), window], { after: '3s' })).toMatchObject({
      ...{ told: '7', exact: 27_000 },
      body: { policy: '10s', retryAfter: 7 },
    })
    const shadow = fixedWindow({ limit: 2, window: '1h', shadow: true })
    expect(await refusal([hinted(), shadow])).toMatchObject({ told: '1', exact: 30_000 })
  })

  test('a cost that is never admitted has no Retry-After', async () => {
    expect(await refusal([hinted()], { cost: () => 3 })).toMatchObject({ told: undefined, exact: Infinity })
  })

  test('the cost of a list that is admitted first counts', async () => {
    const policies = [hinted({ name: 'own' }), concurrency({ name: 'pool', limit: 2, lease: '10s' })]
    const cost = [
      { own: 1, pool: 0 },
      { own: 0, pool: 1 },
    ]
    expect(await refusal(policies, { cost })).toMatchObject({ told: '1', exact: 10_000, body: { policy: 'own' } })
  })

  test.each([
    ['0s', /from 1 ms to 30s/],
    ['31s', /from 1 ms to 30s/],
    ['soon', /retryAfter/],
    [null, /retryAfter/],
  ])('%s is an error', (retryAfter, message) => {
    expect(() => hinted({ retryAfter })).toThrow(
      expect.objectContaining({ code: 'HEADGATE_OPTION', message: expect.stringMatching(message) }),
    )
  })
})
