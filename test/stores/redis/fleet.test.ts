import { expect, test } from 'vitest'
import { admittedBy, expectExactlySettled, quick, quickSettling } from '../../support/fleet.ts'
import { startCluster, startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'

const server = await useServer(startRedis())
const cluster = await useServer(startCluster())

const task = { ...quick, kind: 'redis', policy: 'slidingLog' } as const

test('several processes on one key of Redis admit exactly the limit', async () => {
  const store = { prefix: 'one' }
  expect(await admittedBy({ ...task, ports: [server.port], store })).toBe(quick.limit)
})

test('several processes on one key of Redis Cluster admit exactly the limit', async () => {
  const ports = cluster.nodes.map(({ port }) => port)
  expect(await admittedBy({ ...task, ports, store: { prefix: 'three' } })).toBe(quick.limit)
})

test.each([
  ['Redis', [server.port]],
  ['Redis Cluster', cluster.nodes.map(({ port }) => port)],
])(
  'several processes that reserve and settle on %s use exactly what they settle',
  async (_, ports) => {
    await expectExactlySettled({ ...quickSettling, kind: 'redis', ports, store: { prefix: 'settle' } })
  },
  120_000,
)

test('leases admit no more, and leave at most units - 1 unspent in each process', async () => {
  const units = 20
  const store = { prefix: 'leases', leases: { units } }
  const total = await admittedBy({ ...task, policy: 'fixedWindow', ports: [server.port], store })
  expect(total).toBeLessThanOrEqual(quick.limit)
  expect(total).toBeGreaterThanOrEqual(quick.limit - quick.processes * (units - 1))
})
