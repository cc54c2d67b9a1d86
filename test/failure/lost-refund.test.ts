/* A refund that the store has maybe executed. */
import { describe, expect, test, vi } from 'vitest'
import { type Decision, HeadgateError, memoryStore, policy, RateLimiter, type Store } from '../../src/index.ts'
import { type Ledger, withFailover } from '../../src/store.ts'
import type { CheckedLedger } from '../../src/stores/contract/index.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import { MapDatabase } from '../support/map-store.ts'

test.each([
  ['lost-reply', 3],
  ['partition', 3],
  ['hang', 6],
  ['error', 3],
] as const)('a refund during the fault %s is never given back twice', async (kind, used) => {
  const store = faultyStore(memoryStore())
  const limiter = new RateLimiter({ policies: '10/30d sliding-log', store, storeTimeout: '20ms' })
  const usedNow = async () => {
    const { source, policies } = await limiter.usage('ann')
    return source === 'store' ? policies[0]?.used : undefined
  }
  await limiter.consume('ann', { cost: 3 })
  store.fail('error')
  expect((await limiter.consume('ann', { cost: 3 })).source).toBe('fallback')
  store.heal()
  await vi.waitFor(async () => expect(await usedNow()).toBe(6))
  store.fail(kind)
  await limiter.refund('ann', { cost: 3 })
  store.heal()
  await limiter.consume('bob')
  await vi.waitFor(async () => expect(await usedNow()).toBe(used))
  await new Promise((resolve) => setTimeout(resolve, 60))
  expect(await usedNow()).toBe(used)
})

describe.each([
  ['the limiter', { storeTimeout: '20ms' }, {}],
  ['the store', {}, { timeout: 20 }],
] as const)('after a timeout of %s', (_, options, traits) => {
  test('the refund of a late reservation comes later, if the store refuses it first', async () => {
    const store = faultyStore(Object.assign(memoryStore(), { traits }))
    const limiter = new RateLimiter({ policies: ['10/30d sliding-log', '4 at once'], store, ...options })
    store.fail('partition')
    const reservation = await limiter.reserve('ann')
    expect(reservation.decision.source).toBe('fallback')
    await reservation.cancel()
    store.heal()
    store.fail('error') // the late reply has come, and its refund meets this error
    await new Promise((resolve) => setTimeout(resolve, 10))
    store.heal()
    const usedNow = async () => {
      const { source, policies } = await limiter.usage('ann')
      return source === 'store' ? policies.map(({ used }) => used) : undefined
    }
    await vi.waitFor(async () => expect(await usedNow()).toEqual([0, 0]), { timeout: 3000 })
  })
})

test('the refund of a late call without tickets is not sent again, because some of its units may count no more', async () => {
  const clock = new ManualClock()
  const store = faultyStore(memoryStore({ clock: clock.now }), { clock })
  const terms = {
    onStoreError: 'open',
    instances: 1,
    storeTimeout: 20,
    clock: clock.now,
    sleeper: clock.sleeper,
  } as const
  const policies = [policy('10/1s token-bucket')]
  const ledger = store.open({ name: 'late', policies, scopes: ['default'], failure: terms })
  const consume = (costs: number) => ledger.run({ verb: 'consume', keys: ['k'], costs }) as Promise<Decision>
  store.fail('partition')
  const late = consume(3)
  await clock.pass(20)
  expect((await late).source).toBe('open')
  store.heal()
  store.fail('error')
  await clock.pass(100)
  store.heal()
  for (const remaining of [7, 6]) {
    expect((await consume(1)).remaining).toBe(remaining)
    await clock.pass(0)
  }
})

test('a reset drops a refund that is under way, which the store then refuses', async () => {
  const faulty = faultyStore(memoryStore())
  let refuse: (() => void) | undefined
  const store: Store = {
    synchronous: false,
    open(terms, joins) {
      return withFailover(this, terms, joins, (bare) => {
        const ledger = faulty.open(bare)
        const run: Ledger['run'] = async (command) => {
          if (command.verb !== 'settle' || refuse !== undefined) return ledger.run(command)
          await new Promise<void>((resolve) => (refuse = resolve))
          throw new HeadgateError('HEADGATE_STORE', 'refused', { uncounted: true })
        }
        return { run }
      })
    },
  }
  const limiter = new RateLimiter({
    policies: '10/30d sliding-log',
    store,
    storeTimeout: '200ms',
    onStoreError: 'open',
  })
  faulty.fail('partition')
  await limiter.reserve('ann', { cost: 3 })
  faulty.heal()
  await vi.waitFor(() => expect(refuse).toBeDefined())
  await limiter.reset('ann')
  await limiter.consume('ann', { cost: 5 })
  refuse?.()
  for (const key of ['bob', 'ann']) await limiter.consume(key)
  await new Promise((resolve) => setTimeout(resolve, 30))
  expect((await limiter.usage('ann')).policies[0]?.used).toBe(6)
})

test('refunds of late calls leave the circuit breaker open for a store that is too slow', async () => {
  const clock = new ManualClock()
  let delay = 0
  const database = new MapDatabase(() => new Promise<void>((resolve) => void clock.sleeper(delay, resolve)))
  const { now, sleeper } = clock
  const terms = { onStoreError: 'local', instances: 1, storeTimeout: 50, clock: now, sleeper } as const
  const policies = [policy('1000/1h fixed-window')]
  const store = database.store({ clock: now })
  const ledger: CheckedLedger = store.open({ name: 'slow', policies, scopes: ['default'], failure: terms })
  for (let call = 0; call < 12; call++) {
    delay = 40
    const decided = ledger.run({ verb: 'consume', keys: [`k${call}`], costs: 1 })
    await clock.pass(70)
    delay = 5 // the refund is in time
    await clock.pass(50)
    await decided
  }
  expect(ledger.health?.().state).not.toBe('closed')
})

test('a store around another store, with other keys, leaves it to the other to give late units back', async () => {
  const database = new MapDatabase()
  const inner = database.store({ timeout: 50 })
  const store: Store = {
    synchronous: false,
    traits: { timeout: 50 },
    open(terms, joins) {
      return withFailover(this, terms, joins, (bare) => {
        const ledger = inner.open(bare)
        const run: Ledger['run'] = (command) => {
          const keys = (command.keys as readonly string[]).map((key) => `digest of ${key}`)
          return ledger.run({ ...command, keys } as typeof command)
        }
        return { run }
      })
    },
  }
  const limiter = new RateLimiter({ policies: '10/30d sliding-log', store, onStoreError: 'open' })
  let go = () => {}
  database.before = () => new Promise<void>((resolve) => (go = resolve))
  await limiter.consume('ann', { cost: 3 })
  database.before = () => {}
  go()
  await vi.waitFor(async () => expect((await limiter.usage('ann')).policies[0]?.used).toBe(0))
})
