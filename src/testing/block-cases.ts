import { fixedWindow } from '../algorithms/fixed-window.ts'
import type { Decision } from '../decision.ts'
import { HeadgateError } from '../errors.ts'
import { RateLimiter } from '../limiter.ts'
import type { Reservation } from '../reservation.ts'
import type { Store } from '../stores/store.ts'
import { assertEqual, assertTrue } from './assert.ts'
import type { StoreFixture } from './store-cases.ts'

const hour = 3_600_000

const summary = ({ allowed, policy, retryAfter }: Decision) => `${allowed ? 'ok' : 'no'} ${policy} ${retryAfter}`

/** False for a store whose ledgers have no `block`. */
export async function canBlock(limiter: RateLimiter): Promise<boolean> {
  const key = Object.fromEntries(limiter.scopes.map((scope) => [scope, 'nobody']))
  return limiter.unblock(key).then(
    () => true,
    (error: unknown) => {
      if (error instanceof HeadgateError && error.code === 'HEADGATE_UNSUPPORTED') return false
      throw error
    },
  )
}

/** Runs on a store that can block keys. */
function blocking(run: (fixture: StoreFixture) => Promise<void>): (fixture: StoreFixture) => Promise<void> {
  return async (fixture) => {
    if (await canBlock(limiterOf(fixture.store, { name: 'asked' }))) await run(fixture)
  }
}

function limiterOf(store: Store, options: object = {}): RateLimiter {
  return new RateLimiter({ name: 'default', policies: fixedWindow({ limit: 5, window: '1d' }), store, ...options })
}

/** Tests of `block` and `unblock`, by their titles. A store without them passes. */
export const blockCases: Readonly<Record<string, (fixture: StoreFixture) => Promise<void>>> = {
  'a blocked key is refused until the block ends, and takes nothing': blocking(async ({ store, clock, at }) => {
    const limiter = limiterOf(store)
    await limiter.consume('k')
    await limiter.block('k', '1h', { reason: 'scans \ud83d\ude80' })
    const blocked = { until: clock.milliseconds + hour, scope: 'default', reason: 'scans \ud83d\ude80' }
    for (const decision of [
      await limiter.consume('k'),
      await limiter.peek('k'),
      (await limiter.reserve('k')).decision,
    ]) {
      assertEqual([summary(decision), decision.remaining, decision.blocked], [`no block ${hour}`, 0, blocked])
      assertEqual(decision.policies[0]?.remaining, 4, 'the verdicts are those of a peek')
    }
    assertEqual((await limiter.reserve('k', { maxWait: '2h' })).decision.allowed, false, 'no booking ahead')
    assertEqual(summary(await limiter.consume('other')), 'ok 1d 0')
    assertEqual((await limiter.consume('other')).blocked, undefined)
    at(hour - 1)
    assertEqual(summary(await limiter.consume('k')), 'no block 1', '1 ms too soon')
    at(hour)
    const admitted = await limiter.consume('k')
    assertEqual([summary(admitted), admitted.remaining, admitted.blocked], ['ok 1d 0', 3, undefined])
  }),

  'charges, refunds and settlements work during a block, and tell it': blocking(async ({ store }) => {
    const limiter = limiterOf(store)
    const reservation: Reservation = await limiter.reserve('k', { cost: 3 })
    await limiter.block('k', Infinity)
    const charged = await limiter.charge('k')
    assertEqual([charged.allowed, charged.remaining, charged.blocked?.until], [true, 1, Infinity])
    assertEqual((await limiter.refund('k')).remaining, 2)
    await reservation.settle(1)
    assertEqual(summary(await limiter.consume('k')), 'no block Infinity')
    await limiter.unblock('k')
    assertEqual((await limiter.consume('k')).remaining, 3)
  }),

  'a second block replaces the first, unblock and reset lift it, and Infinity lasts': blocking(
    async ({ store, at, clock }) => {
      const limiter = limiterOf(store)
      const waits = async () => summary(await limiter.peek('k'))
      await limiter.block('k', '2h', { reason: 'first' })
      await limiter.block('k', '1h')
      assertEqual(await waits(), `no block ${hour}`, 'a shorter one')
      assertEqual((await limiter.peek('k')).blocked?.reason, undefined)
      await limiter.block('k', '3h')
      assertEqual(await waits(), `no block ${3 * hour}`, 'a longer one')
      await limiter.unblock('k')
      assertEqual(await waits(), 'ok 1d 0')
      await limiter.consume('k')
      await limiter.block('k', Infinity)
      at(300 * 24 * hour)
      assertEqual(await waits(), 'no block Infinity', 'after 300 days')
      await limiter.reset('k')
      assertEqual((await limiter.peek('k')).remaining, 5)
      await limiter.block('k', '366d')
      clock.advance(366 * 24 * hour - 1)
      assertEqual(await waits(), 'no block 1')
      await limiter.unblock('k')
      await limiter.unblock('k') // lifts nothing, and is no error
      assertEqual(await waits(), 'ok 1d 0')
    },
  ),

  'a call is refused if any of its keys is blocked': blocking(async ({ store, at }) => {
    const policies = ['address', 'user'].map((scope) => fixedWindow({ name: scope, scope, limit: 5, window: '1d' }))
    const limiter = limiterOf(store, { policies })
    const call = (address: string, user: string) => limiter.consume({ address, user })
    await limiter.block({ user: 'u' }, '1h')
    assertEqual([(await call('a', 'u')).blocked?.scope, (await call('a', 'v')).allowed], ['user', true])
    await limiter.block({ address: 'a' }, '2h', { reason: 'longer' })
    const both = await call('a', 'u')
    assertEqual([summary(both), both.blocked?.scope], [`no block ${2 * hour}`, 'address'])
    assertEqual(
      both.policies.map(({ remaining }) => remaining),
      [4, 5],
      'nothing was taken under either scope',
    )
    await limiter.unblock({ address: 'a' })
    at(hour - 1)
    assertEqual(summary(await call('a', 'u')), 'no block 1')
    at(hour)
    assertEqual((await call('a', 'u')).allowed, true)
    await limiter.block({ address: 'a', user: 'u' }, '1h')
    assertEqual([(await call('a', 'v')).allowed, (await call('b', 'u')).allowed], [false, false])
  }),

  'unblock lifts the block of a penalty, which counts anew and knows its past blocks': blocking(
    async ({ store, at }) => {
      const penalty = { after: 2, within: '1h', block: ['1h', '10h'] }
      const limiter = limiterOf(store, { policies: fixedWindow({ limit: 1, window: '10s' }), penalty })
      const call = async () => summary(await limiter.consume('k'))
      assertEqual([await call(), await call(), await call()], ['ok 10s 0', 'no 10s 10000', `no penalty ${hour}`])
      await limiter.block('k', '2h')
      await limiter.unblock('k')
      at(10_000)
      assertEqual([await call(), await call()], ['ok 10s 0', 'no 10s 10000'], 'the count starts anew')
      assertEqual(await call(), `no penalty ${10 * hour}`, 'the second block of the list')
    },
  ),

  'a block by a penalty holds under the next plan, whose longest block bounds it': blocking(async ({ store }) => {
    const windows = fixedWindow({ limit: 9, window: '1h' })
    const untilWindow = limiterOf(store, { policies: windows, penalty: { after: 1, within: '1h', until: 'window' } })
    const timed = untilWindow.under({
      policies: fixedWindow({ limit: 9, window: '1h' }),
      penalty: { after: 1, within: '1h', block: ['1s', '10s'] },
    })
    assertEqual(
      [(await untilWindow.consume('k', { cost: 8 })).allowed, (await untilWindow.consume('k', { cost: 2 })).allowed],
      [true, false],
    )
    assertEqual(
      [summary(await untilWindow.peek('k')), summary(await timed.peek('k'))],
      [`no penalty ${hour}`, 'no penalty 10000'],
    )
    await timed.consume('other', { cost: 10 })
    const { resetAfter, ...decision } = await untilWindow.peek('other')
    assertEqual([summary({ resetAfter, ...decision }), resetAfter], ['no penalty 1000', 1000])
  }),

  'a block holds under every plan, on every key, and never for another': blocking(async ({ store }) => {
    const limiter = limiterOf(store)
    const plan = limiter.under(fixedWindow({ limit: 100, window: '1h', name: 'pro' }))
    await limiter.consume('k')
    await plan.block('k', '1h')
    assertEqual([(await limiter.consume('k')).allowed, (await plan.consume('k')).allowed], [false, false])
    await limiter.unblock('k')
    assertEqual([(await limiter.consume('k')).allowed, (await plan.consume('k')).allowed], [true, true])
    const keys = ['', ' ', 'K', 'k:', '{k}', '*', '\ud800', 'k\0', '__proto__', 'k'.repeat(10_000)]
    for (const key of keys) await limiter.block(key, '1h')
    const decisions = await Promise.all([...keys, 'k'].map((key) => limiter.peek(key)))
    assertTrue(
      decisions.slice(0, -1).every(({ blocked }) => blocked !== undefined),
      'each of them is blocked',
    )
    assertEqual(decisions.at(-1)?.blocked, undefined)
  }),

  'a clock that goes back leaves a block, and lengthens none': blocking(async ({ store, at }) => {
    const limiter = limiterOf(store)
    const call = async () => summary(await limiter.consume('k'))
    at(100 * hour)
    await limiter.block('k', '1h')
    at(100 * hour - 30_000)
    assertEqual(await call(), `no block ${hour + 30_000}`, 'by less than clocks differ')
    at(50 * hour)
    assertEqual(await call(), `no block ${hour}`, 'far back: the block begins there')
    at(51 * hour)
    assertEqual(await call(), 'ok 1d 0')
  }),
}
