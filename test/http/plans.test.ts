import { expect, test } from 'vitest'
import { fixedWindow, type PlanLike, type PlanLimiter, type PolicyLikes, tokenBucket } from '../../src/index.ts'
import { brokenStore } from '../support/async-store.ts'
import { contract, signal, stillStore, until } from '../support/contract.ts'
import { get } from '../support/frameworks.ts'
import { headerOf } from '../support/shapes.ts'

const key = (request: unknown) => headerOf(request, 'x-user') as string

let names = 0

const summary = ({ status, headers }: Awaited<ReturnType<typeof get>>) =>
  `${status} ${headers['x-ratelimit-remaining']} of ${headers['x-ratelimit-limit']}`

contract((app) => {
  const start = async (options: object, policies: (plan: string) => unknown) => {
    const { store, clock } = stillStore()
    const { url } = await app({
      store,
      keys: key,
      policies: (request: unknown) => policies(headerOf(request, 'x-plan') as string),
      ...options,
    })
    return {
      clock,
      url,
      get: async (plan: string, user = 'ada') => summary(await get(url, { 'x-plan': plan, 'x-user': user })),
    }
  }
  const byPlan = (plan: string): string => (plan === 'pro' ? '10/1h' : '4/1h')

  test('each plan has its own numbers, and used units stay used when a key changes its plan', async () => {
    const { get } = await start({}, byPlan)
    expect([await get('free'), await get('free'), await get('free')].at(-1)).toBe('200 1 of 4')
    expect(await get('pro')).toBe('200 6 of 10')
    expect(await get('pro')).toBe('200 5 of 10')
    expect(await get('free')).toBe('429 0 of 4')
    expect(await get('pro')).toBe('200 4 of 10')
    expect(await get('pro', 'bob')).toBe('200 9 of 10')
  })

  test('onChange: scale keeps the used share', async () => {
    const scale = await start({ onChange: 'scale' }, byPlan)
    expect([await scale.get('free'), await scale.get('free')].at(-1)).toBe('200 2 of 4')
    expect(await scale.get('pro')).toBe('200 4 of 10')
  })

  test('requests in flight count, if another request moves their units to another algorithm', async () => {
    let plan = '9/1h fixed-window'
    let release = signal()
    const handle = async (_decision: unknown, url: string) => {
      if (url.includes('slow')) await release.promise
      return 200
    }
    const { store } = stillStore()
    const { url, limiter, handled } = await app(
      { store, policies: () => plan, keys: key, count: 'failures' },
      { handle },
    )
    const ask = async (path: string) => (await get(`${url}/${path}`, { 'x-user': 'ada' })).status
    const used = async () => (await (limiter as PlanLimiter).withPlan(plan).peek('ada')).policies[0]?.used
    for (const [next, expected] of [
      ['8/1h fixed-window', 0],
      ['8/1h sliding-log', 2],
    ] as const) {
      release = signal()
      const [before, slow] = [handled(), [ask('?slow'), ask('?slow')]]
      await until(() => handled() === before + 2)
      plan = next
      await ask('')
      release.give()
      expect(await Promise.all(slow)).toEqual([200, 200])
      await until(() => true)
      expect(await used()).toBe(expected)
    }
  })

  test('a plan may have a penalty of its own, with its own status, or none', async () => {
    const penalty = { after: 1, within: '1m', ban: '2h' }
    const plans: Record<string, PlanLike> = {
      free: { policies: '1/1h fixed-window', penalty: { ...penalty, ban: '3h', status: 403 } },
      pro: { policies: '1/1h fixed-window', penalty: false },
      usual: '1/1h fixed-window',
    }
    const { url } = await start({ penalty }, (plan) => plans[plan])
    const last = async (plan: string) => {
      await get(url, { 'x-plan': plan, 'x-user': plan })
      const { status, headers } = await get(url, { 'x-plan': plan, 'x-user': plan })
      return `${status} ${Math.ceil(Number(headers['retry-after']) / 3600)} h`
    }
    expect([await last('free'), await last('pro'), await last('usual')]).toEqual(['403 3 h', '429 1 h', '429 2 h'])
  })

  test('a wrong penalty of a plan is an error of the request', async () => {
    const { get } = await start({}, () => ({ policies: '1/1h', penalty: { after: 0, within: '1m', ban: '2h' } }))
    expect((await get('free')).slice(0, 3)).toBe('500')
  })

  test('the function may return a promise, several policies, and other algorithms', async () => {
    const plans: Record<string, PolicyLikes> = {
      free: fixedWindow({ name: 'quota', limit: 3, window: '1h' }),
      pro: [tokenBucket({ name: 'quota', limit: 6, window: '1h' }), '100/1d'],
    }
    const { get } = await start({}, async (plan) => plans[plan])
    expect([await get('free'), await get('free')].at(-1)).toBe('200 1 of 3')
    expect(await get('pro')).toBe('200 3 of 6')
    expect(await get('free')).toBe('429 0 of 3')
  })

  test.each<[string, object, number]>([
    ['alone', {}, 200],
    ['with other headers', { headers: ['legacy', 'draft-8', 'draft-11'] }, 200],
    ['with delay', { delay: { max: '1s' } }, 200],
    ['with a cost for each policy', { cost: { '1h': 7, tokens: 3 } }, 200],
    ['with settle and count', { settle: true, count: 'failures' }, 200],
    ['with a penalty', { penalty: { after: 1, within: '1m', ban: '2h' } }, 200],
    ['with deny', { deny: () => true }, 403],
  ])('the plan unlimited, %s, asks no store and sets no fields', async (_, options, expected) => {
    const store = brokenStore(() => Promise.reject(new Error('nobody asks')))
    const name = `unlimited ${names++}`
    for (const policies of ['unlimited', async () => 'unlimited', () => ({ policies: 'unlimited' })]) {
      const { url } = await app({
        ...{ name: `${name} ${typeof policies} ${policies}`, store },
        onStoreError: 'closed',
        policies,
        ...options,
      })
      const { status, headers } = await get(url)
      expect(status).toBe(expected)
      expect(Object.keys(headers).filter((field) => /rate-?limit|retry/i.test(field))).toEqual([])
    }
  })

  test('policies with other names are separate quotas', async () => {
    const { get } = await start({}, (method) => (method === 'read' ? '5/1m' : '2/1h'))
    expect([await get('write'), await get('write'), await get('write')].at(-1)).toBe('429 0 of 2')
    expect([await get('read'), await get('read')].at(-1)).toBe('200 3 of 5')
    expect(await get('write')).toBe('429 0 of 2')
    expect(await get('read')).toBe('200 2 of 5')
  })

  test('the function may make new plain options for each request', async () => {
    const { get } = await start({}, (plan) => ({ limit: plan === 'pro' ? 10 : 4, window: '1h' }))
    expect(await get('free')).toBe('200 3 of 4')
    expect(await get('pro')).toBe('200 8 of 10')
    expect(await get('free')).toBe('200 1 of 4')
  })

  test('skip and deny come first; an error of the function goes to the error handler', async () => {
    const { url, get: ask } = await start({ skip: (request: unknown) => key(request) === 'root' }, (plan) => {
      if (plan === 'broken') throw new Error('no such plan')
      return plan === 'wrong' ? '5 per minute' : '1/1h'
    })
    expect(await ask('broken', 'root')).toBe('200 undefined of undefined')
    expect(await get(url, { 'x-plan': 'broken', 'x-user': 'ada' })).toMatchObject({ status: 500, body: 'no such plan' })
    expect((await get(url, { 'x-plan': 'wrong', 'x-user': 'ada' })).status).toBe(500)
    expect(await ask('any')).toBe('200 0 of 1')
  })

  test('other invalid options throw at construction', async () => {
    await expect(start({ headers: 'unheard-of' }, byPlan)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    await expect(start({ onChange: 'halve' }, byPlan)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    const noRule = {
      code: 'HEADGATE_OPTION',
      message: expect.stringContaining("onChange must be 'keep' or 'scale', got \"reset\""),
    }
    await expect(start({ onChange: 'reset' }, byPlan)).rejects.toMatchObject(noRule)
    await expect(start({ limit: 5 }, byPlan)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    const penalty = { after: 0, within: '1m', ban: '1m' }
    await expect(start({ penalty }, byPlan)).rejects.toMatchObject({ code: 'HEADGATE_PENALTY' })
  })

  test('a ban has its own status, also if another policy makes the key wait longer', async () => {
    const { store } = stillStore()
    const penalty = { after: 1, within: '1m', ban: '1m', status: 403 }
    const { url } = await app({ policies: '1/1h fixed-window', store, penalty })
    await get(url)
    const { status, headers } = await get(url)
    expect([status, Number(headers['retry-after']) > 60]).toEqual([403, true])
  })

  test('a penalty responds with 403 with Retry-After until the ban ends', async () => {
    const { store, clock } = stillStore()
    const penalty = { after: 2, within: '1m', ban: ['1m', '10m'], status: 403 }
    const { url } = await app({ policies: '1/10s fixed-window', store, penalty, headers: ['legacy', 'draft-8'] })
    const ask = async () => {
      const { status, headers } = await get(url)
      return `${status} ${headers['retry-after'] ?? '-'} ${headers['x-ratelimit-limit']} ${headers.ratelimit}`
    }
    expect([await ask(), await ask()]).toEqual(['200 - 1 "10s";r=0;t=10', '429 10 1 "10s";r=0;t=10'])
    expect(await ask()).toBe('403 60 1 "10s";r=0;t=10')
    clock.advance('59s')
    expect(await ask()).toBe('403 1 1 "10s";r=1;t=0')
    clock.advance('1s')
    expect(await ask()).toBe('200 - 1 "10s";r=0;t=10')
    const refused = await get(url, { accept: 'application/json' })
    expect(refused.status).toBe(429)
    const banned = await get(url, { accept: 'application/json' })
    expect([banned.status, JSON.parse(banned.body)]).toMatchObject([
      403,
      { error: 'forbidden', policy: 'penalty', retryAfter: 600 },
    ])
  })
})
