import { Redis } from 'ioredis'
import { afterAll, beforeEach, describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  slidingLog,
  smoothBursty,
  smoothWarmingUp,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

/* Rates that are set at run time, on a real Redis. The clock stands still, so every wait is exact. */

const server = await useServer(startRedis())
const clients: Redis[] = []
let clock: ManualClock

beforeEach(async () => {
  await server.command('FLUSHALL')
  clock = new ManualClock()
})

afterAll(() => {
  for (const client of clients) client.disconnect()
})

/** A pacer with a connection of its own, as in another process. */
function otherProcess(policy: Policy): Pacer {
  const client = new Redis(server.port)
  clients.push(client)
  const store = redisStore({ client, clock: clock.now, timeout: 5000 })
  return new Pacer(policy, { store, clock: clock.now, sleeper: clock.sleeper, name: 'fleet' })
}

async function waits(pacer: Pacer, calls: number): Promise<number[]> {
  const all: number[] = []
  for (let n = 0; n < calls; n++) all.push((await pacer.reserve()).wait)
  return all
}

const policies: [string, (rate: number) => Policy][] = [
  ['gcra', (limit) => gcra({ name: 'pace', limit, window: '1s', burst: 1 })],
  ['fixedWindow', (limit) => fixedWindow({ name: 'pace', limit, window: '1s' })],
  ['slidingLog', (limit) => slidingLog({ name: 'pace', limit, window: '1s' })],
  ['smoothBursty', (rate) => smoothBursty({ name: 'pace', rate })],
  ['smoothWarmingUp', (rate) => smoothWarmingUp({ name: 'pace', rate, warmup: '1s' })],
]

describe.each(policies)('%s', (_, policyOf) => {
  test.each([
    ['raised', 4, 8],
    ['lowered', 8, 4],
  ])(
    '%s: waits are those of a memory store, for the pacer that sets the rate and for one that starts with it',
    async (_, from, to) => {
      const store = memoryStore({ clock: clock.now })
      const alone = new Pacer(policyOf(from), { name: 'pacer', store, clock: clock.now, sleeper: clock.sleeper })
      const one = otherProcess(policyOf(from))
      expect(await waits(one, 10)).toEqual(await waits(alone, 10))
      alone.setRate(to)
      const two = otherProcess(policyOf(to))
      expect(await waits(two, 2)).toEqual(await waits(alone, 2))
      one.setRate(to)
      expect(await waits(one, 2)).toEqual(await waits(alone, 2))
      expect(await waits(two, 2)).toEqual(await waits(alone, 2))
    },
  )
})

test.each([
  ['raised', 4, 8, [2375, 2500]],
  ['lowered', 8, 4, [2500, 2750]],
])('a bucket, %s: the pacer that sets the rate keeps the waits it promised', async (_, from, to, expected) => {
  const pacer = otherProcess(gcra({ name: 'pace', limit: from, window: '1s', burst: 1 }))
  const promised = await waits(pacer, 10)
  expect(promised.at(-1)).toBe((9 * 1000) / from)
  pacer.setRate(to)
  await pacer.reserve(1, { maxWait: 0 }) // Redis answers this after the request that setRate sent
  await pacer.reserve(1, { maxWait: 0 })
  expect(await waits(pacer, 2)).toEqual(expected)
})
