/* Eight processes call all the time while another one writes an override with an end. */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { RateLimiter, type Store } from '../../src/index.ts'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { expectOverridden, limit, month, raised, sumOf, withFleet } from '../support/overrides-fleet.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

async function play(kind: 'redis' | 'cluster', port: number, store: Store, processes: number): Promise<void> {
  await withFleet({ kind, port }, processes, async (callUntil) => {
    const limiter = new RateLimiter({ name: 'api', policies: month(), store, storeTimeout: '10s' })
    const begun = Date.now()
    const results = callUntil(begun + 6000)
    await sleep(1000)
    const until = begun + 5000
    await limiter.override('hot', { limit: raised, until, reason: 'incident' })
    const written = Date.now()
    const seen = await results
    expectOverridden(seen, { written, until })
    expect((await limiter.usage('hot')).policies).toMatchObject([
      { used: sumOf(seen, ({ admitted }) => admitted), limit },
    ])
    expect(await limiter.overrides()).toEqual([])
    limiter.close()
  })
}

test('eight processes over Redis', { timeout: 60_000 }, async () => {
  const { port } = await useServer(startRedis())
  const client = new Redis(port)
  client.on('error', () => undefined)
  await play('redis', port, redisStore({ client, timeout: '5s' }), 8)
  client.disconnect()
})

test('the workers of a cluster', { timeout: 60_000 }, () => play('cluster', 0, clusterStore(), 2))
