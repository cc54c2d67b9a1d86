import { tokenBucket } from '../algorithms/buckets/index.ts'
import { smoothBursty } from '../algorithms/smooth/index.ts'
import { fixedWindow } from '../algorithms/windows/index.ts'
import { book, decide } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import { assertEqual, assertTrue } from './assert.ts'
import { ifSupported, limiterOn, play, type StoreCases } from './timeline.ts'

const inOrder = (numbers: number[]) => numbers.sort((a, b) => a - b)
const multiples = (of: number, count: number) => Array.from({ length: count }, (_, n) => of * n)

/** Keys that break a store which joins, splits, matches, trims or encodes keys wrongly, or ignores their case. */
const hostileKeys: readonly string[] = [
  ...['', ' ', 'k', 'K', ' k', 'k ', 'k\n', 'k\0', 'k:', ':k', '{k}', '{}', '}{'],
  ...['*', '?', '[k]', '%6B', 'k%', '"', "'"],
  ...['\\', '\\n', '`', '$1', '../k', '__proto__', 'constructor', 'hasOwnProperty', 'null', 'undefined', '0', '-0'],
  ...['é', 'e\u0301', '\u00df', 'ss', '\ud800', '\udc00', '\ud801', '\ufffd', '\u{1f6b0}', 'k'.repeat(10_000)],
  `${'k'.repeat(9_999)}K`,
]

/** The tests that every store has to pass, by their titles. */
export const storeCases: StoreCases = {
  'several policies and scopes: all of them commit or none does': (fixture) => {
    const address = fixedWindow({ name: 'address', scope: 'address', limit: 3, window: '1s' })
    const user = tokenBucket({ name: 'user', scope: 'user', limit: 5, window: '1d' })
    return play(fixture, limiterOn(fixture.store, [address, user]))`
       consume a,u 3 -> ok 0
       consume a,u -> no 0 by address for 1000
       consume b,u 2 -> ok 0
       consume c,u -> no 0 by user for 17280000
       consume c,v 3 -> ok 0
       1000: consume a,w -> ok 2
       reset a,u
       consume a,u 3 -> ok 0`
  },

  'a list of costs: the first that is admitted is taken, and settled where it was taken': async ({ store, at }) => {
    if (store.traits?.alternatives !== true) return
    const own = fixedWindow({ name: 'own', scope: 'user', limit: 4, window: '10s' })
    const pool = fixedWindow({ name: 'pool', scope: 'address', limit: 8, window: '1m' })
    const limiter = limiterOn(store, [own, pool])
    const key = { user: 'u', address: 'a' }
    const cost = [
      { own: 3, pool: 0 },
      { own: 0, pool: 3 },
    ]
    const used = async () => (await limiter.peek(key)).policies.map((policy) => policy.used)
    const reservations = [await limiter.reserve(key, { cost }), await limiter.reserve(key, { cost })]
    assertEqual((await limiter.consume(key, { cost })).tried, [{ policy: 'own', retryAfter: 10_000 }])
    const refused = await limiter.consume(key, { cost })
    assertEqual([refused.allowed, refused.policy, refused.retryAfter, await used()], [false, 'own', 10_000, [3, 6]])
    await reservations[1]?.settle(1)
    await reservations[0]?.settle(2)
    assertEqual(await used(), [2, 4])
    at(10_000)
    assertEqual([(await limiter.consume(key, { cost })).tried, await used()], [[], [3, 4]])
  },

  'a hundred calls at once on one key are decided one at a time': async ({ store }) => {
    const limiter = limiterOn(store, ['60/1h fixed-window', '37/1d sliding-log'])
    const decisions = await Promise.all(Array.from({ length: 100 }, () => limiter.consume('k')))
    const admitted = decisions.filter(({ allowed }) => allowed).map(({ remaining }) => remaining)
    assertEqual(inOrder(admitted), multiples(1, 37))
  },

  'a hundred reservations at once on one key get a slot each': async ({ store }) => {
    const limiter = limiterOn(store, '10/1s gcra burst 1')
    const booked = await Promise.all(Array.from({ length: 100 }, () => limiter.reserve('k', { maxWait: '1h' })))
    assertEqual(inOrder(booked.map(({ wait }) => wait)), multiples(100, 100))
  },

  'a booking that states its wait in microseconds states the same wait': async ({ store, at }) => {
    const policies = [tokenBucket({ limit: 3, window: '1s', burst: 1 })]
    const ledger = store.open({ name: 'exact', policies, scopes: ['default'] })
    at(0.001)
    // Three units a second: each call is due a third of a second after the call before, rounded up to a whole microsecond.
    for (const expected of [0, 333_334, 666_668, 1_000_002]) {
      const { wait, delay = expected } = await ledger.run({ verb: 'reserve', keys: ['k'], maxWait: 10_000_000 })
      assertEqual([wait, delay], [Math.ceil(expected / 1000), expected])
    }
  },

  'hostile keys never share a state': async ({ store }) => {
    const limiter = limiterOn(store, '1/1h')
    const first = await Promise.all(hostileKeys.map((key) => limiter.consume(key)))
    const second = await Promise.all(hostileKeys.map((key) => limiter.consume(key)))
    for (const [n, key] of hostileKeys.entries()) {
      const got = [first[n], second[n]].map((decision) => decision?.allowed)
      assertEqual(got, [true, false], `the key ${JSON.stringify(key.slice(0, 20))} of ${key.length}`)
    }
    await limiter.reset('*')
    assertEqual((await limiter.consume('*')).allowed, true)
    assertEqual((await limiter.consume('k')).allowed, false, 'a reset removes one key only')
  },

  'hostile scopes and limiters of other names never share a state': async ({ store }) => {
    const limiters = ['a', 'a:b', 'a:b:c', 'A', '{a}', 'default', '*'].map((name) =>
      limiterOn(store, fixedWindow({ limit: 1, window: '1h' }), { name }),
    )
    for (const key of ['x', 'b:x', 'c:x', 'b:c:x']) {
      for (const limiter of limiters) assertEqual((await limiter.consume(key)).allowed, true, `${limiter.name} ${key}`)
    }
    await limiters[0]?.reset('x')
    assertEqual((await limiters[1]?.consume('x'))?.allowed, false)
    const policies = ['s', 's:t', 't'].map((scope) => fixedWindow({ name: scope, scope, limit: 1, window: '1h' }))
    const scoped = limiterOn(store, policies, { name: 'scoped' })
    assertEqual((await scoped.consume({ s: 't:x', 's:t': 'x', t: 'x' })).allowed, true)
    assertEqual((await scoped.consume({ s: 'x', 's:t': 't:x', t: 's:x' })).allowed, true)
  },

  'clear, if the store has it, forgets every key of a limiter under every plan, and no other key': async ({
    store,
  }) => {
    const window = '1h'
    const policies = ['s', 's:t'].map((scope) => fixedWindow({ name: scope, scope, limit: 1, window }))
    const limiter = limiterOn(store, policies, { name: 'a' })
    const other = limiterOn(store, policies, { name: 'a:s' })
    const plan = limiter.withPlan(fixedWindow({ name: 'plan', scope: 'plan', limit: 1, window }))
    const keys = hostileKeys.map((key) => ({ s: key, 's:t': `${key}:x` }))
    for (const each of [limiter, other]) await Promise.all(keys.map((key) => each.consume(key)))
    await plan.consume('k')
    if (!(await ifSupported(limiter.clear().then(() => true)))) return
    const decisions = await Promise.all(keys.map((key) => limiter.consume(key)))
    assertTrue(
      decisions.every(({ allowed }) => allowed),
      'every key has its full quota',
    )
    assertEqual((await plan.consume('k')).allowed, true, 'under every plan')
    const others = await Promise.all(keys.map((key) => other.consume(key)))
    assertTrue(!others.some(({ allowed }) => allowed), 'another limiter forgets nothing')
  },

  'a window of 60 days is exact': (fixture) =>
    play(fixture, limiterOn(fixture.store, '1/60d sliding-log'))`
       consume k -> ok 0
       5183999999: consume k -> no 0 by 60d for 1
       5184000000: consume k -> ok 0`,

  'a clock that goes back adds no quota and locks no key out': async (fixture) => {
    const limiter = limiterOn(fixture.store, '10/1s token-bucket')
    await play(fixture, limiter)`100000: consume k 10 -> ok 0`
    for (let back = 0; back < 50; back++) {
      await play(fixture, limiter)`
         99500: consume k -> no 0 by 1s for 600
         100000: consume k -> no 0 by 1s for 100`
    }
    await play(fixture, limiter)`
       10000: consume k -> no 0 by 1s for 100
       10100: consume k -> ok 0`
  },

  'a clock that goes back by less than a window stands still': async (fixture) => {
    const even = smoothBursty({ name: '1h', rate: 36, per: '1h', maxBurst: 0 })
    for (const policies of ['36/1h token-bucket burst 1', even]) {
      await play(fixture, limiterOn(fixture.store, policies, { name: typeof policies }))`
         3600000: consume k -> ok 0
         1000: consume k -> no 0 by 1h for 3699000
         0: consume k -> no 0 by 1h for 100000`
    }
  },

  'peek and refused calls write nothing, and only the first settlement counts': async (fixture) => {
    const limiter = limiterOn(fixture.store, '10/1h fixed-window')
    await play(fixture, limiter)`
       peek k 10 -> ok 10
       consume k 11 -> no 10 by 1h for Infinity`
    assertEqual((await limiter.peek('k')).resetAfter, 0)
    const reservation = await limiter.reserve('k', { cost: 8 })
    await Promise.all([reservation.settle(3), reservation.settle(3), reservation.cancel()])
    await play(fixture, limiter)`
       peek k -> ok 7
       charge k 20 -> ok 0
       refund k 14 -> ok 1
       refund k 1000 -> ok 10`
  },

  'a refusal that one plan counts leaves the units that other plans have used': async (fixture) => {
    const penalty = { after: 50, within: '1h', ban: '1h' }
    const large = limiterOn(fixture.store, '5/1h fixed-window', { penalty })
    const small = large.withPlan('3/1h fixed-window')
    await play(fixture, large)`consume k 5 -> ok 0`
    for (let n = 0; n < 5; n++) {
      for (const plan of [small, large]) await play(fixture, plan)`consume k -> no 0 by 1h for 3600000`
    }
    assertEqual((await small.reserve('k', { maxWait: '5h' })).allowed, false)
    await play(fixture, large)`consume k -> no 0 by 1h for 3600000`
    const both = await Promise.all(Array.from({ length: 20 }, (_, n) => (n % 2 ? small : large).consume('k')))
    assertEqual(both.filter(({ allowed }) => allowed).length, 0)
  },

  'decisions and reservations carry the details that were asked for': async ({ store, at }) => {
    const limiter = limiterOn(store, '10/1h fixed-window')
    const details = { at: true, nextAfter: true }
    at(3_600_000)
    const decided = await decide(limiter, 'k', 1, { details })
    at(5_400_000)
    const booked = await book(limiter, 'k', 1, 0, { details })
    const times = (decision: Decision) => [decision.resetAfter, decision.policies[0]?.nextAfter]
    assertEqual(times(decided), [3_600_000, 3_600_000])
    assertEqual(times(booked.decision), [1_800_000, 1_800_000])
    assertEqual((booked.decision.at ?? 0) - (decided.at ?? 0), 1_800_000)
    assertEqual((await limiter.consume('k')).at, undefined)
  },

  'costs and limits near 2^53 stay exact': (fixture) =>
    play(fixture, limiterOn(fixture.store, fixedWindow({ limit: 2 ** 53 - 1, window: '1h' })))`
       consume k ${2 ** 53 - 3} -> ok 2
       consume k -> ok 1
       consume k 2 -> no 1 by 1h for 3600000
       consume k -> ok 0`,
}
