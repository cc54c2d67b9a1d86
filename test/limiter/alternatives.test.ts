/** A list of costs: the first that is admitted is taken, as in a budget of an own first, then a pool. */
import { channel } from 'node:diagnostics_channel'
import { expect, test } from 'vitest'
import { lruStore, memoryStore, RateLimiter, type Store } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { type Create, describeCostLists, key, own, ownThenPool, pool, setup } from '../support/cost-lists.ts'
import { MapDatabase } from '../support/map-store.ts'
import { sqliteDatabase } from '../support/sqlite.ts'

const sqlite = sqliteDatabase()
let tables = 0

const stores: [string, Create][] = [
  ['memoryStore', (clock) => memoryStore({ clock })],
  ['lruStore', (clock) => lruStore({ clock })],
  ['compareAndSetStore', (clock) => new MapDatabase().store({ clock })],
  ['sqliteStore', (clock) => sqlite.create(clock, `t${++tables}`) as Store],
]

for (const [name, create] of stores) describeCostLists(name, create)

const memory = () => setup((clock) => memoryStore({ clock })).limiter

test.each<[string, unknown, RegExp]>([
  ['an empty list', [], /must have at least one cost/],
  ['a list of numbers', [1, 2], /and each is a record/],
  ['a cost without a policy', [{ own: 1, pool: 0 }, { own: 0 }], /"pool" is missing/],
  ['an unknown policy', [{ own: 1, pool: 0, more: 1 }], /"more", which is no policy/],
  ['a fraction', [{ own: 1, pool: 0.5 }], /from 0 to 2\^53 - 1/],
  ['a list in a list', [[{ own: 1, pool: 0 }]], /a record of them/],
])('%s is refused with HEADGATE_COST', async (_, cost, message) => {
  for (const verb of ['consume', 'reserve', 'peek'] as const) {
    await expect(memory()[verb](key, { cost: cost as never })).rejects.toMatchObject({
      code: 'HEADGATE_COST',
      message: expect.stringMatching(message),
    })
  }
})

test.each(['charge', 'refund'] as const)('%s takes no list', async (verb) => {
  await expect(memory()[verb](key, { cost: ownThenPool })).rejects.toMatchObject({
    code: 'HEADGATE_COST',
    message: expect.stringMatching(/Only consume, reserve and peek try a list of costs/),
  })
})

test('a store that takes no lists says so, and is not asked', async () => {
  let runs = 0
  const inner = memoryStore()
  const store: Store = {
    synchronous: true,
    open: (terms) => {
      const ledger = inner.open(terms)
      return {
        run(command) {
          runs++
          return ledger.run(command)
        },
      }
    },
  }
  const limiter = new RateLimiter({ policies: [own, pool], store })
  for (const verb of ['consume', 'reserve', 'peek'] as const) {
    await expect(limiter[verb](key, { cost: ownThenPool })).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
  }
  expect(() => limiter.consumeSync(key, { cost: ownThenPool })).toThrow(/cannot try a list of costs/)
  expect(runs).toBe(0)
})

test('the plan without limits takes any list', async () => {
  const unlimited = memory().withPlan('unlimited')
  const reservation = await unlimited.reserve('k', { cost: ownThenPool })
  expect(reservation.allowed).toBe(true)
  await reservation.settle(3)
})

test('a number settles a list only if each cost has one number', async () => {
  const { limiter } = setup((clock) => memoryStore({ clock }))
  const cost = [
    { own: 1, pool: 2 },
    { own: 0, pool: 1 },
  ]
  const reservation = await limiter.reserve(key, { cost })
  await expect(reservation.settle(1)).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  await reservation.settle({ pool: 1 })
  expect((await limiter.usage(key)).policies.map(({ used }) => used)).toEqual([1, 1])
})

test('the event of a call has the cost that was taken, or of a refusal the first', async () => {
  const seen: unknown[] = []
  const listen = (event: unknown) => void seen.push((event as { cost: unknown }).cost)
  const events = channel('headgate:limiter:call')
  events.subscribe(listen)
  try {
    const limiter = memory()
    for (let n = 0; n < 9; n++) await limiter.consume(key, { cost: ownThenPool })
  } finally {
    events.unsubscribe(listen)
  }
  const [first, second] = ownThenPool
  expect(seen).toEqual([first, first, first, second, second, second, second, second, first])
})

test('a pacer takes no list', async () => {
  const pacer = new Pacer('1/1s token-bucket')
  const cost = [{ '1s': 1 }] as never
  const calls = [pacer.acquire(cost), pacer.reserve(cost), pacer.throttle(() => 1, { cost }), pacer.tryAcquire(cost)]
  for (const call of await Promise.allSettled(calls)) {
    expect(call).toMatchObject({ reason: { code: 'HEADGATE_COST', message: expect.stringMatching(/a list of costs/) } })
  }
})
