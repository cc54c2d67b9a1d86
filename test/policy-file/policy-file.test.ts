import { mkdtempSync, renameSync, rmSync, symlinkSync, unlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, expect, test, vi } from 'vitest'
import { RateLimiter } from '../../src/index.ts'
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
  writeFileSync(file, typeof document === 'string' ? document : JSON.stringify(document, undefined, 2))
}

function opened(options?: PolicyFileOptions): PolicyFile {
  const file = policiesFrom(path, options)
  open.push(file)
  return file
}

/** Waits until the file, which is looked at twice a second, is read again. */
const seen = (check: () => void) => vi.waitFor(check, { timeout: 10_000, interval: 20 })

function freshHome(): void {
  rmSync(home, { recursive: true, force: true })
  mkdtempSync(join(tmpdir(), 'headgate-'))
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
  freshHome()
  rmSync(home, { recursive: true, force: true })
  const { mkdirSync } = await import('node:fs')
  mkdirSync(home)
  write({ limiters: { api: { policies: ['3/1h'], plans: { pro: ['5/1h'] } } } })
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
      before: expect.stringContaining('"limit":3'),
      after: expect.stringContaining('"limit":10'),
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

test('of an invalid new version nothing takes effect, and health says so until it is mended', async () => {
  const { mkdirSync } = await import('node:fs')
  mkdirSync(home, { recursive: true })
  write({ limiters: { api: ['3/1h'], login: ['5/1h'] } })
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

test('without hooks, changes are printed, and an invalid version is one warning', async () => {
  const { mkdirSync } = await import('node:fs')
  mkdirSync(home, { recursive: true })
  const printed = vi.spyOn(console, 'info').mockImplementation(() => {})
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {})
  write({ limiters: { api: ['3/1h'] } })
  const limits = opened()
  write({ limiters: { api: ['4/1h'] } })
  await seen(() => expect(printed).toHaveBeenCalledTimes(1))
  expect(printed.mock.calls[0]?.[0]).toMatch(/policies\.json: api, 1h: \{.*"limit":3.*\} -> \{.*"limit":4.*\}$/)
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

test('a candidate is tried beside its plan, and a changed candidate takes effect like changed policies', async () => {
  const { mkdirSync } = await import('node:fs')
  mkdirSync(home, { recursive: true })
  const pro = { policies: '9/1h', candidate: { policies: '4/1h', penalty: false } }
  const penalty = { after: 5, within: '1m', ban: '1h' }
  write({ limiters: { api: { policies: '9/1h', penalty, candidate: '3/1h', plans: { pro, max: '10/1h' } } } })
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
      before: expect.stringContaining('"limit":3'),
      after: expect.stringContaining('"limit":5'),
    },
    { limiter: 'api', plan: 'pro', candidate: true, policy: '1h', before: expect.stringContaining('"limit":4') },
  ])
  expect(await under().candidate?.peek('ann')).toMatchObject({ limit: 5, remaining: 2 })
  expect(await under().peek('ann')).toMatchObject({ remaining: 5 })
  expect(under('pro').candidate).toBeUndefined()
})
