/* What `override` refuses, with a code and the fix, and that it then changes nothing. */
import { describe, expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  concurrency,
  fixedWindow,
  memoryStore,
  type OverrideOptions,
  type OverrideTarget,
  policy,
  RateLimiter,
  type Store,
  slidingWindow,
  smoothBursty,
} from '../../src/index.ts'

const one = () => new RateLimiter({ policies: fixedWindow({ name: 'month', limit: 10, window: '30d' }) })
const window = () => new RateLimiter({ policies: slidingWindow({ name: 'm', limit: 2 ** 40, window: '1m' }) })
const two = () =>
  new RateLimiter({
    policies: [policy('5/1s', { name: 'a', scope: 'address' }), policy('6/1s', { name: 'u', scope: 'user' })],
  })

describe.each<[string, () => RateLimiter, OverrideTarget, OverrideOptions, RegExp, string?]>([
  ['no number', one, 'x', {}, /exactly one of limit, add, policies and scale, got none/],
  ['two numbers', one, 'x', { limit: 1, scale: 2 }, /got limit and scale/],
  ['a limit of 0', one, 'x', { limit: 0 }, /at least 1\. To refuse each call of a key, write ban\(key, '1h'\)/],
  ['a limit below 0', one, 'x', { limit: -1 }, /limit must be a whole number from 1/],
  ['a fraction', one, 'x', { add: 1.5 }, /add must be a whole number from 1/],
  ['a scale of 0', one, '*', { scale: 0 }, /scale must be a number above 0/],
  ['a scale that is not exact', one, '*', { scale: 1 / 3 }, /at most 6 decimals/],
  ['a long reason', one, '*', { scale: 1, reason: 'x'.repeat(201) }, /1 to 200 characters/],
  ['the past', one, '*', { scale: 1, until: '2020-01-01' }, /is in the past/],
  ['no date', one, '*', { scale: 1, until: '2026-13-45' }, /is no time/],
  ['no day of its month', one, '*', { scale: 1, until: '2096-02-30' }, /is no time/],
  ['no day of its month, with a time', one, '*', { scale: 1, until: '2097-02-29T10:00' }, /is no time/],
  [
    'no duration',
    one,
    '*',
    { scale: 1, until: 'friday' },
    /neither a time nor a duration .*: "friday"\. Write until: '2h'/,
  ],
  ['a duration of years', one, '*', { scale: 1, until: '2y' }, /a duration of at most 366 days: "2y"/],
  [
    'a window without an end',
    two,
    { user: 'x' },
    { policy: 'u', limit: 1, until: 'window' },
    /needs the name of a policy of this limiter/,
  ],
  ['a window of no policy', one, '*', { scale: 1, until: 'window' }, /needs the name of a policy/],
  [
    'a limit of several policies',
    two,
    { user: 'x' },
    { limit: 1 },
    /limit belongs to one policy, and the limiter has "a", "u"/,
  ],
  ['a name beside policies', one, 'x', { policy: 'a', policies: '1/1s' }, /names no policy/],
  ['no policies', one, 'x', { policies: [] }, /policies has none/],
  [
    'a policy of another scope',
    two,
    { user: 'x' },
    { policies: policy('1/1s', { scope: 'address' }) },
    /has the scope "address"/,
  ],
  ['units in flight', one, 'x', { policies: concurrency({ limit: 1 }) }, /cannot be in the policies of an override/],
  ['a calendar', one, 'x', { policies: calendarWindow({ limit: 1, every: 'month' }) }, /cannot be in the policies/],
  ['a limiter of Guava', one, 'x', { policies: smoothBursty({ rate: 1 }) }, /cannot be in the policies/],
  ['a shorthand', one, 'x', { policies: '5 per minute' }, /A policy is limit\/window/, 'HEADGATE_POLICY'],
  ['two names', one, 'x', { policies: ['1/1s', '2/1s'] }, /two policies are named/],
  [
    'another name of the end',
    one,
    'x',
    { limit: 1, ttl: '1h' } as OverrideOptions,
    /"ttl"\. Write until: '2h'/,
    'HEADGATE_OPTION',
  ],
  [
    'a policy that is not there',
    one,
    'x',
    { policy: 'mnth', limit: 5 },
    /has no policy "mnth"\. Its policies are "month"/,
  ],
  ['a scale of a policy that is not there', one, '*', { policy: 'mnth', scale: 2 }, /withPlan\(plan\)\.override/],
  [
    'a policy of another scope',
    two,
    { user: 'x' },
    { policy: 'a', limit: 5 },
    /"a" has the scope "address", and the override is for "user"\. Write override\(\{ "address": 'ann' \}/,
  ],
  ['a wildcard', one, 'trial-*', { scale: 2 }, /is one key.* Write override\(\{ prefix: "trial-" \}, \.\.\.\)/],
  ['an option', one, 'x', { limits: 1 } as OverrideOptions, /has no option "limits"/, 'HEADGATE_OPTION'],
  ['a text for several scopes', two, 'x', { policy: 'a', limit: 1 }, /needs the scope of "x"/, 'HEADGATE_KEY'],
  ['an unknown scope', two, { session: 'x' }, { policy: 'a', limit: 1 }, /override takes a key/, 'HEADGATE_KEY'],
  ['two scopes', two, { user: 'x', address: 'y' }, { scale: 1 }, /the key of one scope/, 'HEADGATE_KEY'],
  [
    'an unknown scope of a prefix',
    two,
    { scope: 's', prefix: 'x' },
    { scale: 1 },
    /must be a scope of the limiter/,
    'HEADGATE_OPTION',
  ],
  [
    'a name of another scope',
    two,
    { user: 'x' },
    { policies: policy('9/1m', { name: 'a' }) },
    /this limiter cannot have these policies\. Two policies are named "a"/,
  ],
  [
    'the name of the penalty',
    () => new RateLimiter({ policies: '5/1m', penalty: { after: 3, within: '1m', ban: '1h' } }),
    'x',
    { policies: policy('9/1m', { name: 'penalty' }) },
    /Two policies are named "penalty"/,
  ],
  [
    'a limit that is not exact',
    window,
    'x',
    { limit: 2 ** 46 },
    /cannot have these numbers\. A sliding window .* 2\^45/,
  ],
  ['a top-up that is not exact', window, 'x', { add: 2 ** 45 }, /cannot have these numbers/],
  ['a scale that makes a limit inexact', window, '*', { scale: 1000 }, /cannot have these numbers/],
  ['nothing', one, undefined as never, { scale: 1 }, /override takes a key/, 'HEADGATE_KEY'],
])('%s', (_, make, target, options, message, code = 'HEADGATE_OVERRIDE') => {
  test('is refused', async () => {
    const limiter = make()
    await expect(limiter.override(target, options)).rejects.toMatchObject({
      code,
      message: expect.stringMatching(message),
    })
    expect(await limiter.overrides()).toEqual([])
  })
})

describe('the same weight', () => {
  test.each<[OverrideTarget, OverrideOptions, OverrideTarget, OverrideOptions]>([
    ['x', { limit: 5 }, 'x', { add: 5 }],
    ['x', { limit: 5 }, { default: 'x' }, { policies: '1/1s' }],
    [{ prefix: 'x' }, { add: 5 }, { scope: 'default', prefix: 'x' }, { limit: 5 }],
    ['*', { limit: 5 }, '*', { limit: 6 }],
    ['*', { policies: '1/1s' }, '*', { limit: 6 }],
  ])('%j %j, then %j %j', async (first, before, second, after) => {
    const limiter = one()
    await limiter.override(first, { ...before, until: '1h' })
    await expect(limiter.override(second, after)).rejects.toMatchObject({
      code: 'HEADGATE_OVERRIDE',
      message: expect.stringContaining('await limiter.removeOverride("1")'),
    })
    await limiter.removeOverride('1')
    await limiter.override(second, after)
  })

  test('scales overlap, and so do numbers of two policies', async () => {
    const limiter = two()
    await limiter.override('*', { scale: 0.5 })
    await limiter.override('*', { scale: 0.1 })
    await limiter.override('*', { policy: 'a', limit: 50 })
    await limiter.override('*', { policy: 'u', limit: 60 })
    const { policies } = await limiter.peek({ user: 'x', address: 'y' })
    expect(policies.map(({ limit }) => limit)).toEqual([5, 6])
  })
})

/** A store with documents, in memory, of which one has this text. */
function storeWith(text: string): Store {
  const memory = memoryStore()
  const documents = {
    versions: (names: readonly string[]) => names.map(() => text),
    read: () => ({ version: text, text }),
    swap: (_name: string, version: string, next: string) => {
      if (version !== text) return false
      text = next
      return true
    },
  }
  return {
    synchronous: true,
    traits: { fallible: false },
    documents,
    open: (terms, joins) => memory.open(terms, joins),
  }
}

test('at most 1000 different sets of numbers, and any number of keys that have one of them', async () => {
  const record = (n: number) => ({
    id: String(n),
    scope: 'default',
    key: `k${n}`,
    policy: '1s',
    limit: 10 + n,
    since: 0,
  })
  const overrides = Array.from({ length: 1000 }, (_, n) => record(n + 1))
  const limiter = new RateLimiter({
    name: 'api',
    policies: '5/1s',
    store: storeWith(JSON.stringify({ last: 1000, overrides })),
  })
  await expect(limiter.override('new', { limit: 5000 })).rejects.toMatchObject({
    code: 'HEADGATE_OVERRIDE',
    message: expect.stringContaining('at most 1000 different sets'),
  })
  expect(await limiter.override('new', { limit: 11 })).toMatchObject({ id: '1001' })
  expect(await limiter.peek('k1000')).toMatchObject({ limit: 1010 })
  limiter.close()
})

test.each(['{', '[]', '{"last":1}', '{"last":1,"overrides":[{}]}'])(
  'a document that is %s is refused',
  async (text) => {
    const limiter = new RateLimiter({ name: 'api', policies: '5/1s', store: storeWith(text) })
    await expect(limiter.override('x', { limit: 5 })).rejects.toMatchObject({ code: 'HEADGATE_STORE_RECORD' })
    expect(await limiter.consume('x')).toMatchObject({ allowed: true, limit: 5 })
    limiter.close()
  },
)

test('at most 256 kB', async () => {
  const limiter = one()
  await limiter.override({ prefix: 'x'.repeat(200_000) }, { scale: 0.5 })
  await expect(limiter.override({ prefix: 'y'.repeat(70_000) }, { scale: 0.5 })).rejects.toMatchObject({
    code: 'HEADGATE_OVERRIDE',
    message: expect.stringContaining('at most 262144 fit'),
  })
})

test('a store that processes share needs documents', async () => {
  const memory = memoryStore()
  const store: Store = {
    synchronous: true,
    traits: { fallible: false, kind: 'other' },
    open: (terms, joins) => memory.open(terms, joins),
  }
  expect(await new RateLimiter({ policies: '5/1s', store }).override('x', { limit: 1 })).toMatchObject({ id: '1' })
  const { compareAndSetStore } = await import('../../src/store.ts')
  const shared = compareAndSetStore({ read: async () => undefined, swap: async () => true })
  const limiter = new RateLimiter({ name: 'api', policies: '5/1s', store: shared })
  for (const call of [
    () => limiter.override('x', { limit: 1 }),
    () => limiter.overrides(),
    () => limiter.removeOverride('1'),
  ]) {
    await expect(call()).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
  }
})

test('a policy of a plan that cannot have the numbers stays as it is, and says so', async () => {
  const limiter = new RateLimiter({ policies: fixedWindow({ name: 'm', limit: 10, window: '1h' }) })
  const plan = limiter.withPlan(slidingWindow({ name: 'm', limit: 20, window: '366d' }))
  await limiter.override('x', { limit: 2 ** 50 })
  expect(await limiter.consume('x')).toMatchObject({ allowed: true, limit: 2 ** 50 })
  expect(await plan.consume('x')).toMatchObject({ allowed: true, limit: 20 })
  expect(await limiter.overrides()).toMatchObject([{ effective: true }])
  expect(await plan.overrides()).toMatchObject([{ effective: false }])
})

test('a scale that some policies of the limiter can have', async () => {
  const log = slidingWindow({ name: 'log', limit: 10, window: '1m' })
  const limiter = new RateLimiter({ policies: [slidingWindow({ name: 'big', limit: 2 ** 44, window: '1m' }), log] })
  expect(await limiter.override('*', { scale: 1000 })).toMatchObject({ effective: true })
  expect((await limiter.consume('x')).policies.map(({ limit }) => limit)).toEqual([2 ** 44, 10_000])
})

test('policies for all keys of a scope that the limiter does not have', async () => {
  await expect(two().override('*', { policies: '5/1m' })).rejects.toMatchObject({
    code: 'HEADGATE_OVERRIDE',
    message: expect.stringContaining(
      `no policy of this limiter has the scope "default". Write policy('5/1m', { scope:`,
    ),
  })
})

test('two overrides give two scopes a policy of the same name', async () => {
  const limiter = two()
  await limiter.override({ user: 'x' }, { policies: '9/1m' })
  await limiter.override({ user: 'y' }, { policies: '8/1m' })
  await expect(limiter.override({ scope: 'address', prefix: 't' }, { policies: '7/1m' })).rejects.toMatchObject({
    code: 'HEADGATE_OVERRIDE',
    message: expect.stringMatching(
      /"1" has a policy "1m" for the scope "user".* policy\('5\/1m', \{ name: 'trial' \}\)/,
    ),
  })
})

test.each([1, undefined, null, {}])('removeOverride(%j) is refused, because an id is a text', async (id) => {
  const limiter = one()
  const { id: own } = await limiter.override('x', { limit: 5 })
  await expect(limiter.removeOverride(id as never)).rejects.toMatchObject({
    code: 'HEADGATE_OVERRIDE',
    message: expect.stringContaining('Write removeOverride(override.id).'),
  })
  expect(await limiter.removeOverride('2')).toBe(false)
  expect(await limiter.removeOverride(own)).toBe(true)
})
