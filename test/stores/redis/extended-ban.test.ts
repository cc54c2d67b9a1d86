import { expect, test } from 'vitest'
import { penalty } from '../../../src/algorithms/bans/index.ts'
import { fixedWindow, gcra, lruStore, memoryStore, type Store } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { MapDatabase } from '../../support/map-store.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()
const clock = new ManualClock()

const stores: Record<string, (clock: ManualClock) => Store> = {
  memory: ({ now }) => memoryStore({ clock: now }),
  lru: ({ now }) => lruStore({ clock: now }),
  'compare and set': ({ now }) => new MapDatabase().store({ clock: now }),
  redis: ({ now }) => redisStore({ client, clock: now, timeout: '10s' }),
}

test.each(Object.keys(stores))('%s: a ban that only extends leaves a ban that ends later', async (name) => {
  const store = (stores[name] as (typeof stores)[string])(clock)
  const ledger = store.open({ name: 'extended', policies: [gcra({ limit: 1, window: '1s' })], scopes: ['default'] })
  const ban = (seconds: number, reason: string, only = true) =>
    ledger.run({ verb: 'ban', keys: ['k'], ban: { duration: seconds * 1e6, reason, extends: only } })
  const left = async () => {
    const { retryAfter, ban } = await ledger.run({ verb: 'peek', keys: ['k'] })
    return [retryAfter / 1000, ban?.reason]
  }
  await ban(10, 'first')
  expect(await left()).toEqual([10, 'first'])
  clock.advance(2000)
  await ban(5, 'shorter')
  expect(await left()).toEqual([8, 'first'])
  await ban(9, 'longer')
  expect(await left()).toEqual([9, 'longer'])
  await ban(4, 'other', false)
  expect(await left()).toEqual([4, 'other'])
  clock.advance(5000) // the ban is over, but may be stored still
  await ban(1, 'new')
  expect(await left()).toEqual([1, 'new'])
})

test.each(Object.keys(stores))('%s: a spent quota that a ban resets is full when the ban ends', async (name) => {
  const store = (stores[name] as (typeof stores)[string])(clock)
  const hour = fixedWindow({ name: 'hour', limit: 3, window: '1h', align: 'first-request' })
  const ban = penalty({ on: 'spent', ban: '1m', restart: true }, 'default', false, hour.algorithm.span)
  const ledger = store.open({ name: 'spent', policies: [hour, ban], scopes: ['default'] })
  const decision = await ledger.run({ verb: 'consume', keys: ['k'], costs: [3, 1], details: { nextAfter: true } })
  const times = decision?.policies.map(({ resetAfter, nextAfter }) => [resetAfter, nextAfter])
  expect(times).toEqual([
    [60_000, 60_000],
    [120_000, 60_000],
  ])
})
