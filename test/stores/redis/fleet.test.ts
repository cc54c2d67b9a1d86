import { describe, expect, test } from 'vitest'
import { admitted, limit, processes, sum } from '../../support/fleet.ts'
import { startCluster, startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

const server = await useServer(startRedis())
const cluster = await useServer(startCluster())

describe.each(['fixedWindow', 'slidingLog'])('8 processes x 2,000 calls on one key of limit 1,000, %s', (policy) => {
  test('admit exactly 1,000 on Redis', async () => {
    expect(sum(await admitted({ kind: 'redis', ports: [server.port], policy, store: { prefix: 'one' } }))).toBe(limit)
  }, 60_000)

  test('admit exactly 1,000 without batches and local denial', async () => {
    const store = { prefix: 'plain', batch: false, denyCache: false }
    expect(sum(await admitted({ kind: 'redis', ports: [server.port], policy, store }))).toBe(limit)
  }, 60_000)

  test('admit exactly 1,000 on a cluster of 3 masters', async () => {
    const ports = cluster.nodes.map(({ port }) => port)
    expect(sum(await admitted({ kind: 'redis', ports, policy, store: { prefix: 'three' } }))).toBe(limit)
  }, 60_000)
})

test('leases admit no more, and strand at most units - 1 for each process', async () => {
  const units = 20
  const store = { prefix: 'leases', leases: { units } }
  const total = sum(await admitted({ kind: 'redis', ports: [server.port], policy: 'fixedWindow', store }))
  expect(total).toBeLessThanOrEqual(limit)
  expect(total).toBeGreaterThanOrEqual(limit - processes * (units - 1))
}, 60_000)
