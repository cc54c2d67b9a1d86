import { mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/node.ts'
import { type HeadgateError, type PolicyLike, RateLimiter } from '../../src/index.ts'
import {
  type PolicyChange,
  type PolicyFile,
  type PolicyFileOptions,
  policiesFrom,
} from '../../src/policy-file/index.ts'

const home = mkdtempSync(join(tmpdir(), 'headgate-policies-'))
const path = join(home, 'policies.json')
const open: PolicyFile[] = []
afterEach(() => {
  for (const each of open.splice(0)) each.close()
  rmSync(home, { recursive: true, force: true, maxRetries: 3 })
})

function write(document: unknown, file = path): void {
  writeFileSync(`${file}.new`, typeof document === 'string' ? document : JSON.stringify(document, undefined, 2))
  renameSync(`${file}.new`, file) // so that no half of the text is read
}

function opened(options?: PolicyFileOptions): PolicyFile {
  const file = policiesFrom(path, options)
  open.push(file)
  return file
}

/** Waits until the file, which is looked at twice a second, is read again. */
const seen = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 20 })

function freshFile(document: unknown): void {
  mkdirSync(home, { recursive: true })
  write(document)
}

/** A request for the path, and its response. */
function incoming(url: string): [IncomingMessage, ServerResponse] {
  const socket = new Socket()
  Object.defineProperty(socket, 'remoteAddress', { value: '192.0.2.1' })
  const request = Object.assign(new IncomingMessage(socket), { url, method: 'GET' })
  return [request, new ServerResponse(request)]
}

test('limiters decide by the file: texts, objects, quotas, plans and penalties', async () => {
  const limits = policiesFrom({
    $schema: './node_modules/headgate/dist/policies.schema.json',
    limiters: {
      login: '5/15m sliding-log',
      api: {
        policies: ['10/1s burst 20', { policy: '1000/month Europe/Berlin', scope: 'tenant' }],
        penalty: { after: 5, within: '1m', ban: '1h' },
        plans: {
          pro: [{ algorithm: 'token-bucket', limit: 3, window: '1h', burst: 2, name: 'burst' }],
          internal: 'unlimited',
          free: { policies: { limit: 1, window: '1m' }, penalty: false },
        },
      },
    },
  })
  const limiter = new RateLimiter({ name: 'api', policies: '1/1m' })
  const under = (plan?: string) => limiter.withPlan(limits.plan('api', plan))
  expect(under().policies.map(({ name, scope, limit }) => [name, scope, limit])).toEqual([
    ['1s', 'default', 10],
    ['month', 'tenant', 1000],
    ['penalty', 'default', 5],
  ])
  expect(under('free').policies.map(({ name }) => name)).toEqual(['1m'])
  expect(under('pro').policies.map(({ name }) => name)).toEqual(['burst', 'penalty'])
  expect((await under('pro').consume('ann', { cost: 2 })).allowed).toBe(true)
  expect((await under('pro').consume('ann')).allowed).toBe(false)
  expect((await under('internal').consume('ann')).allowed).toBe(true)
  expect(under()).toBe(under())
  expect(limits.plan('login')).toMatchObject({ policies: [{ limit: 5, name: '15m' }] })
  const listed = [...limits.limiters()].map(([name, { own, plans }]) => [name, own, [...plans]])
  expect(listed).toEqual([
    ['login', limits.plan('login'), []],
    ['api', limits.plan('api'), ['pro', 'internal', 'free'].map((plan) => [plan, limits.plan('api', plan)])],
  ])
})

test('a valid new version takes effect at the next call, and used units stay used', async () => {
  freshFile({ limiters: { api: { policies: ['3/1h'], plans: { pro: ['5/1h'] } } } })
  const changes: PolicyChange[] = []
  const limits = opened({ onChange: (each) => void changes.push(...each) })
  const limiter = new RateLimiter({ name: 'api', policies: '1/1m' })
  const call = (plan?: string) => limiter.withPlan(limits.plan('api', plan)).consume('ann')
  expect((await call()).remaining).toBe(2)
  expect((await call()).remaining).toBe(1)
  write({ limiters: { api: { policies: ['10/1h'], plans: { pro: ['5/1h'], max: 'unlimited' } } } })
  await seen(() => expect(changes).toHaveLength(2))
  expect((await call()).remaining).toBe(7)
  expect(changes).toEqual([
    {
      limiter: 'api',
      policy: '1h',
      before: '"3/1h"',
      after: '"10/1h"',
    },
    { limiter: 'api', plan: 'max', after: '"unlimited"' },
  ])
  expect(limits.health()).toEqual({ since: expect.any(Number) })
  // An editor or a deployment replaces the file, here by a link.
  write({ limiters: { api: { policies: ['2/1h'], plans: { pro: ['5/1h'] } } } }, join(home, 'next.json'))
  unlinkSync(path)
  symlinkSync(join(home, 'next.json'), path)
  await seen(() => expect(changes).toHaveLength(4))
  expect((await call()).allowed).toBe(false)
  limits.close()
  write({ limiters: { api: ['100/1h'] } }, join(home, 'next.json'))
  await new Promise((resolve) => setTimeout(resolve, 1200))
  expect(changes).toHaveLength(4)
})

test('a relative path means the working directory of the first read', async () => {
  freshFile({ limiters: { api: ['3/1h'] } })
  const before = process.cwd()
  process.chdir(home)
  const changes: PolicyChange[] = []
  const limits = policiesFrom('policies.json', { onChange: (each) => void changes.push(...each) })
  open.push(limits)
  limits.plan('api')
  process.chdir(before)
  write({ limiters: { api: ['10/1h'] } })
  await seen(() => expect(changes).toHaveLength(1))
  expect(limits.health().error).toBeUndefined()
})

test('of an invalid new version nothing takes effect, and health says so until it is mended', async () => {
  freshFile({ limiters: { api: ['3/1h'], login: ['5/1h'] } })
  const errors: string[] = []
  const limits = opened({
    onInvalid: ({ code, message }) => void errors.push(`${code} ${message}`),
    onChange: () => {},
  })
  limits.plan('api')
  const before = limits.plan('login')
  write('{\n  "limiters": {\n    "api": ["3/1h",]\n  }\n}')
  await seen(() => expect(errors).toHaveLength(1))
  expect(errors[0]).toBe(
    `HEADGATE_POLICY_FILE ${path}, line 3: Here a value should stand, not "]". Correct the JSON. JSON has no comments, and no comma after the last element.`,
  )
  expect(limits.plan('login')).toBe(before)
  expect(limits.health()).toMatchObject({ error: { code: 'HEADGATE_POLICY_FILE' }, invalidSince: expect.any(Number) })
  write({ limiters: { api: ['3/1h'] } })
  await seen(() => expect(errors).toHaveLength(2))
  expect(errors[1]).toContain('there is no limiter "login". The limiters are api.')
  renameSync(path, `${path}.old`)
  await seen(() => expect(errors).toHaveLength(3))
  expect(errors[2]).toContain('cannot be read: Error: ENOENT')
  write({ limiters: { api: ['4/1h'], login: ['5/1h'] } })
  await seen(() => expect(limits.health()).toEqual({ since: expect.any(Number) }))
  expect(limits.plan('api')).toMatchObject({ policies: [{ limit: 4 }] })
})

test('a plan that a version removes before its first call stays as it was, and health says so', async () => {
  freshFile({ limiters: { api: { policies: '3/1h', plans: { gold: '50/1h' } }, login: '5/1h' } })
  const errors: string[] = []
  const limits = opened({ onInvalid: ({ message }) => void errors.push(message), onChange: () => {} })
  limits.plan('api')
  write({ limiters: { api: { policies: '4/1h', plans: { pro: '9/1h' } } } })
  await seen(() => expect(limits.plan('api')).toMatchObject({ policies: [{ limit: 4 }] }))
  expect(errors).toEqual([])
  const gold = limits.plan('api', 'gold')
  expect(gold).toMatchObject({ policies: [{ limit: 50 }] })
  const error = `${path}: the limiter "api" has no plan "gold". Its plans are pro. A call needs it, so it stays as it was.`
  expect(errors).toEqual([error])
  expect(limits.health()).toMatchObject({ error: { message: error } })
  expect(limits.plan('login')).toMatchObject({ policies: [{ limit: 5 }] })
  expect(() => limits.plan('api', 'silver')).toThrow('no plan "silver"')
  const many = Object.fromEntries(Array.from({ length: 1100 }, (_, n) => [`plan-${n}`, '9/1h']))
  write({ limiters: { api: { policies: '5/1h', plans: many } } })
  await seen(() => expect(limits.plan('api')).toMatchObject({ policies: [{ limit: 5 }] }))
  expect(limits.plan('api', 'gold')).toBe(gold)
  expect(limits.health().error).toBeDefined()
  write({ limiters: { api: { policies: '5/1h', plans: { gold: '60/1h' } }, login: '6/1h' } })
  await seen(() => expect(limits.plan('api', 'gold')).toMatchObject({ policies: [{ limit: 60 }] }))
  expect(limits.health().error).toBeUndefined()
})

test('without hooks, changes are printed, and an invalid version is one warning', async () => {
  const { mkdirSync } = await import('node:fs')
  mkdirSync(home, { recursive: true })
  const printed = vi.spyOn(console, 'info').mockImplementation(() => {})
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  write({ limiters: { api: ['3/1h'] } })
  const limits = opened()
  write({ limiters: { api: [{ policy: '4/1h', shadow: true }] } })
  await seen(() => expect(printed).toHaveBeenCalledTimes(1))
  expect(printed.mock.calls[0]?.[0]).toBe(`${path}: api, 1h: "3/1h" -> {"policy":"4/1h","shadow":true}`)
  write('{')
  await seen(() => expect(warned).toHaveBeenCalledTimes(1))
  expect(String(warned.mock.calls[0]?.[0])).toContain('The old policies stay in force.')
  expect(limits.plan('api')).toMatchObject({ policies: [{ limit: 4 }] })
})

test('the process may end while a file is watched, and a plan that is not there is an error', () => {
  const limits = policiesFrom({ limiters: { api: { plans: { pro: ['5/1h'] } } } })
  expect(() => limits.plan('api')).toThrow('The policies: the limiter "api" has no "policies". Its plans are pro.')
  expect(() => limits.plan('api', 'max')).toThrow('the limiter "api" has no plan "max". Its plans are pro.')
  expect(() => limits.plan('other')).toThrow('there is no limiter "other". The limiters are api.')
  expect(() => policiesFrom(join(home, 'none.json'))).toThrow(/none\.json cannot be read: .*ENOENT.*Check the path/)
})

test('a plan that a middleware cannot use stays as it was, while the rest of the file changes', async () => {
  freshFile({ limiters: { api: '5/1m', login: '9/1h' } })
  const errors: HeadgateError[] = []
  const limits = opened({ onInvalid: (error) => void errors.push(error), onChange: () => {} })
  const limit = rateLimit({ policies: () => limits.plan('api'), cost: (request) => ({ '1m': Number(request.url) }) })
  const asks = (cost: number) => limit(...incoming(String(cost)))
  expect(await asks(1)).toBe(true)
  write({ limiters: { api: [{ policy: '5/1m', scope: 'tenant' }], login: '2/1h' } })
  await seen(() => expect(limits.plan('login')).toMatchObject({ policies: [{ limit: 2 }] }))
  expect(limits.health().error).toBeUndefined()
  expect([await asks(4), await asks(1)]).toEqual([true, false]) // the used unit stays used
  expect(limits.health()).toEqual({ since: expect.any(Number), error: errors[0], invalidSince: expect.any(Number) })
  expect(errors.map(({ code, message }) => `${code} ${message}`)).toEqual([
    `HEADGATE_OPTION ${path}, limiters.api: a call fails under the new plan. keys has no extractor for the scope "tenant". ` +
      `Give one: keys: { "tenant": byHeader('x-api-key') }.`,
  ])
  // A mistake of the caller is an error under both versions, and an unusable version is seen again only if it changes.
  await expect(asks(-1)).rejects.toThrow('The cost under "1m"')
  expect(errors).toHaveLength(1)
  write({ limiters: { api: ['5/1m', '100/1d'], login: '2/1h' } })
  await seen(() => expect(limits.health().error).toBeUndefined())
  expect(await asks(1)).toBe(false)
  expect(errors[1]?.message).toContain('"1d" is missing')
  write({ limiters: { api: ['6/1m'], login: '2/1h' } })
  await seen(() => expect(limits.health().error).toBeUndefined())
  expect([await asks(1), await asks(1)]).toEqual([true, false])
  expect(errors).toHaveLength(2)
})

test('a plan that a limiter or its store cannot use stays as it was, also after a step that waits', async () => {
  freshFile({ limiters: { api: { plans: { pro: '5/1m' } } } })
  const errors: HeadgateError[] = []
  const limits = opened({ onInvalid: (error) => void errors.push(error), onChange: () => {} })
  const limiter = new RateLimiter({ name: 'api', policies: '1/1m', penalty: { after: 1, within: '1h', ban: '1h' } })
  const limit = rateLimit({
    policies: async () => limits.plan('api', 'pro'),
    keys: async () => 'ann',
    cost: async () => ({ '1m': 1 }),
  })
  const call = () => limiter.withPlan(limits.plan('api', 'pro'))
  expect([call().policies.length, await limit(...incoming('/'))]).toEqual([2, true])
  write({ limiters: { api: { plans: { pro: ['5/1m', { policy: '9/1h', name: 'penalty' }] } } } })
  await seen(() => expect(limits.plan('api', 'pro')).toMatchObject({ policies: [{}, { name: 'penalty' }] }))
  expect(await limit(...incoming('/'))).toBe(true)
  expect(errors[0]?.message).toContain('limiters.api.plans.pro: a call fails under the new plan.')
  expect(call().policies.map(({ name }) => name)).toEqual(['1m', 'penalty'])
})

test('a call of a limiter that does not fit a new plan is decided under the plan before', async () => {
  freshFile({ limiters: { api: [{ policy: '5/1m', name: 'calls' }] } })
  const errors: HeadgateError[] = []
  const limits = opened({ onInvalid: (error) => void errors.push(error), onChange: () => {} })
  const limiter = new RateLimiter({ name: 'api', policies: 'unlimited' })
  const now = () => limiter.withPlan(limits.plan('api'))
  const cost = { calls: 1 }
  expect((await now().consume('ann', { cost })).remaining).toBe(4)
  write({
    limiters: {
      api: [
        { policy: '5/1m', name: 'calls' },
        { policy: '9/1d', name: 'day' },
      ],
    },
  })
  await seen(() => expect(now().policies).toHaveLength(2))
  await expect(now().consume('ann', { cost: { call: 1 } })).rejects.toThrow('names "call", which is no policy')
  expect(limits.health().error).toBeUndefined()
  expect((await now().consume('ann', { cost })).policies).toMatchObject([{ remaining: 3 }])
  expect(limits.health().error?.message).toContain('"day" is missing')
  expect(now().policies).toHaveLength(1)
  write({
    limiters: {
      api: [
        { policy: '5/1m', name: 'calls', scope: 'user' },
        { policy: '9/1d', scope: 'org' },
      ],
    },
  })
  await seen(() => expect(limits.health().error).toBeUndefined())
  expect((await now().reserve('ann')).decision.policies).toMatchObject([{ remaining: 2 }])
  expect(errors.map(({ code }) => code)).toEqual(['HEADGATE_COST', 'HEADGATE_KEY'])
})

test('after two versions that no call can use, calls are decided under the version before both', async () => {
  const version = (...more: object[]) => ({ limiters: { api: [{ policy: '5/1m', name: 'calls' }, ...more] } })
  freshFile(version())
  const errors: HeadgateError[] = []
  const limits = opened({ onInvalid: (error) => void errors.push(error), onChange: () => {} })
  const limiter = new RateLimiter({ name: 'api', policies: 'unlimited' })
  const now = () => limiter.withPlan(limits.plan('api'))
  for (const [n, limit] of [1, 2].entries()) {
    write(version({ policy: `${limit}/1d`, name: 'day', scope: 'tenant' }))
    await seen(() => expect(now().policies[1]?.limit).toBe(limit))
    for (let call = 0; call < 2; call++) {
      expect((await now().consume('ann')).policies).toMatchObject([{ remaining: 4 - 2 * n - call }])
    }
    expect(errors.map(({ code }) => code)).toEqual(Array(n + 1).fill('HEADGATE_KEY'))
  }
  write(version({ policy: '9/1d', name: 'day' }))
  await seen(() => expect(now().policies[1]?.limit).toBe(9))
  expect((await now().consume('ann')).policies).toMatchObject([{ remaining: 0 }, { remaining: 8 }])
  expect(limits.health().error).toBeUndefined()
})

test('a wrong key of one request takes back no version that another request has used', async () => {
  freshFile({ limiters: { api: [{ policy: '9/1h', name: 'calls' }] } })
  const errors: string[] = []
  const limits = opened({ onInvalid: ({ message }) => void errors.push(message), onChange: () => {} })
  const limit = rateLimit({
    policies: () => limits.plan('api'),
    keys: { default: () => 'ann', project: ({ url }) => (url === '/wrong' ? ([] as never) : 'p') },
  })
  const limiter = new RateLimiter({ name: 'other', policies: 'unlimited' })
  const now = () => limiter.withPlan(limits.plan('api'))
  expect(await limit(...incoming('/'))).toBe(true)
  const policies = [
    { policy: '2/1h', name: 'calls' },
    { policy: '5/1h', scope: 'project' },
  ]
  write({ limiters: { api: policies } })
  await seen(() => expect(limits.plan('api')).toMatchObject({ policies: [{ limit: 2 }, {}] }))
  // Before the first call that succeeds, the cause may be the plan, so this call alone is decided under the version before.
  expect(await limit(...incoming('/wrong'))).toBe(true)
  expect(limits.health().error?.message).toContain('a call fails under the new plan')
  expect([errors.length, await limit(...incoming('/'))]).toEqual([1, false]) // the third unit of 2
  expect(limits.health().error).toBeUndefined()
  await expect(limit(...incoming('/wrong'))).rejects.toThrow('A key extractor must return a text')
  expect(await limit(...incoming('/'))).toBe(false)
  await now().consume({ default: 'bob', project: 'p' })
  await expect(now().consume('bob')).rejects.toMatchObject({ code: 'HEADGATE_KEY' })
  expect([errors.length, limits.health().error]).toEqual([1, undefined])
})

test('a version that comes back is no trap for calls that fail under both versions', async () => {
  freshFile({ limiters: { api: '5/1h' } })
  const limits = opened({ onChange: () => {} })
  const limiter = new RateLimiter({ name: 'api', policies: 'unlimited' })
  const now = () => limiter.withPlan(limits.plan('api'))
  let tries = 0
  for (const limit of [6, 5, 6, 5]) {
    now()
    write({ limiters: { api: `${limit}/1h` } })
    await seen(() => expect(limits.plan('api')).toMatchObject({ policies: [{ limit }] }))
    const cost = {
      get '1h'() {
        tries++
        return -1
      },
    }
    await expect(now().consume('ann', { cost })).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  }
  expect(tries).toBeLessThan(30)
}, 20_000)

test('a plan that has not changed is the same object, so that its limiter is found fast', async () => {
  const warned = vi.spyOn(process, 'emitWarning').mockReset()
  freshFile({ limiters: { api: { policies: '5/1m', plans: { max: 'unlimited', pro: '6/1m' } } } })
  const limits = opened({ onChange: () => {} })
  const limiter = new RateLimiter({ name: 'api', policies: '1/1m' })
  const [api, pro] = [limits.plan('api'), limits.plan('api', 'pro')]
  limiter.withPlan(pro)
  write({ limiters: { api: { policies: '5/1m', plans: { max: 'unlimited', pro: '7/1m' } } } })
  await seen(() => expect(limits.plan('api', 'pro')).not.toBe(pro))
  expect(limits.plan('api')).toBe(api)
  write({ limiters: { api: { policies: '5/1m', plans: { max: 'unlimited', pro: '6/1m' } } } })
  await seen(() => expect(limits.plan('api', 'pro')).toMatchObject({ policies: [{ limit: 6 }] }))
  for (let n = 0; n < 150; n++) limiter.withPlan(limits.plan('api', 'pro'))
  expect(warned).not.toHaveBeenCalled()
})

test('a plan or a policy file in place of a policy is an error that names withPlan', () => {
  const limits = policiesFrom({ limiters: { api: '5/1m' } })
  const plan = limits.plan('api')
  const wrong = [
    [
      () => new RateLimiter({ policies: plan as PolicyLike }),
      'got a plan. For the plan of a caller, write limiter.withPlan(plan)',
    ],
    [
      () => new RateLimiter({ policies: limits as unknown as PolicyLike }),
      "got a policy file. For the plan of a caller, write limiter.withPlan(limits.plan('api'))",
    ],
    [() => rateLimit({ policies: plan as PolicyLike }), 'In a middleware, write policies: () => plan.'],
    [() => rateLimit({ policies: limits as unknown as PolicyLike }), "write policies: () => limits.plan('api')."],
  ] as const
  for (const [make, message] of wrong) expect(make).toThrow(message)
})

test('a candidate is tried beside its plan, and a changed candidate takes effect like changed policies', async () => {
  const pro = { policies: '9/1h', candidate: { policies: '4/1h', penalty: false } }
  const penalty = { after: 5, within: '1m', ban: '1h' }
  freshFile({ limiters: { api: { policies: '9/1h', penalty, candidate: '3/1h', plans: { pro, max: '10/1h' } } } })
  const changes: PolicyChange[] = []
  const limits = opened({ onChange: (each) => void changes.push(...each) })
  const limiter = new RateLimiter({ name: 'api', policies: '1/1m' })
  const under = (plan?: string) => limiter.withPlan(limits.plan('api', plan))
  const namesOf = (plan?: string) => under(plan).candidate?.policies.map(({ name, limit }) => `${name} ${limit}`)
  expect([namesOf(), namesOf('pro'), namesOf('max')]).toEqual([['1h 3', 'penalty 5'], ['1h 4'], undefined])
  await under().consume('ann', { cost: 3 })
  await under().consume('ann')
  expect(limiter.health().candidate).toMatchObject({ compared: 2, newlyRefused: 1 })
  write({
    limiters: { api: { policies: '9/1h', penalty, candidate: '5/1h', plans: { pro: pro.policies, max: '10/1h' } } },
  })
  await seen(() => expect(changes).toHaveLength(2))
  expect(changes).toEqual([
    {
      limiter: 'api',
      candidate: true,
      policy: '1h',
      before: '"3/1h"',
      after: '"5/1h"',
    },
    { limiter: 'api', plan: 'pro', candidate: true, policy: '1h', before: '"4/1h"' },
  ])
  expect(await under().candidate?.peek('ann')).toMatchObject({ limit: 5, remaining: 2 })
  expect(await under().peek('ann')).toMatchObject({ remaining: 5 })
  expect(under('pro').candidate).toBeUndefined()
})
