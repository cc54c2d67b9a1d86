/* Thresholds on a real Redis: by the script of a plan, by the whole script, with leases, and over two processes. */
import { Cluster, Redis } from 'ioredis'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { calendarWindow } from '../../../src/calendar/index.ts'
import { RateLimiter, type ThresholdEvent } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { encodeId, slotOf } from '../../../src/stores/redis/keys.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { type RedisServer, startCluster } from '../../support/redis-server.ts'
import { startProxy } from '../../support/tcp-proxy.ts'
import { describeThresholds } from '../../support/thresholds.ts'
import { useRedis, useServer } from '../../support/use-server.ts'

const { server, client } = await useRedis()

describeThresholds('Redis', (clock) => redisStore({ client, timeout: '10s', clock: clock.now }), 30)

test.each([
  ['alone', {}],
  ['with leases', { leases: { units: 5 } }],
  ['with a cache of refusals', { refusalCache: true }],
])(
  'thousands of calls at the same time, %s: each threshold of each key is told once over the fleet',
  async (_, options) => {
    const clock = new ManualClock(Date.UTC(2026, 10, 23))
    const told: string[] = []
    const onThreshold = ({ key, threshold }: ThresholdEvent) => void told.push(`${key} ${threshold}`)
    const name = `told-fleet-${_}`.replaceAll(' ', '-')
    const fleet = Array.from({ length: 3 }, () => {
      const store = redisStore({ client, timeout: '10s', clock: clock.now, ...options })
      const policies = calendarWindow({ limit: 20, every: 'month', thresholds: [0.5, 0.8, 1] })
      return new RateLimiter({ name, policies, store, onThreshold, onStoreError: 'throw' })
    })
    const keys = Array.from({ length: 50 }, (__, n) => `k${n}`)
    for (let round = 0; round < 12; round++) {
      await Promise.all(keys.flatMap((key) => fleet.map((limiter) => limiter.consume(key))))
    }
    await new Promise((wake) => setTimeout(wake, 50)) // for units that are leased in the background
    expect(told.toSorted()).toEqual(keys.flatMap((key) => [`${key} 0.5`, `${key} 0.8`, `${key} 1`]).toSorted())
  },
)

test('a call whose answer comes after its timeout tells too, because Redis has counted it', async () => {
  const proxy = await startProxy(server.port)
  const far = new Redis(proxy.port)
  onTestFinished(() => {
    far.disconnect()
    proxy.close()
  })
  far.on('error', () => undefined)
  await far.ping()
  const policies = calendarWindow({ limit: 2, every: 'month', thresholds: [0.5] })
  const near = redisStore({ client, timeout: '10s' })
  await new RateLimiter({ name: 'told-near', policies, store: near }).consume('ann') // so that Redis has the script
  const told: string[] = []
  const limiter = new RateLimiter({
    name: 'told-late',
    policies,
    store: redisStore({ client: far, timeout: '50ms' }),
    onThreshold: ({ key }) => void told.push(key),
    onStoreError: 'throw',
  })
  proxy.delay = 200
  await expect(limiter.consume('ann')).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT' })
  expect(told).toEqual([])
  await vi.waitFor(() => expect(told).toEqual(['ann']), { timeout: 5000 })
})

describe('Redis Cluster', async () => {
  const { nodes } = await useServer(startCluster())
  const cluster = new Cluster([{ host: '127.0.0.1', port: (nodes[0] as RedisServer).port }])
  cluster.on('error', () => undefined)
  afterAll(() => cluster.disconnect())

  describeThresholds(
    'Redis Cluster',
    (clock) => redisStore({ client: cluster, timeout: '10s', clock: clock.now }),
    10,
    true,
  )

  /** An id whose slot the node has: each master has a third of the slots. */
  const idOf = (node: number): string => {
    const ids = Array.from({ length: 100 }, (_, n) => `id-${n}`)
    return ids.find((id) => Math.floor((slotOf(`{${encodeId(id)}}`) * 3) / 16_384) === node) as string
  }

  test('a call that one node answers, and another node too late, tells of both', async () => {
    const told: string[] = []
    const clock = new ManualClock(Date.UTC(2026, 10, 23))
    const store = redisStore({ client: cluster, timeout: '250ms', clock: clock.now })
    const policies = ['user', 'team'].map((scope) =>
      calendarWindow({ name: scope, scope, limit: 2, every: 'month', thresholds: [0.5] }),
    )
    const onThreshold = ({ scope }: ThresholdEvent) => void told.push(scope)
    const limiter = new RateLimiter({ name: 'told-by-node', policies, store, onThreshold, onStoreError: 'throw' })
    const key = { user: idOf(0), team: idOf(1) }
    for (const id of [key.user, key.team]) await limiter.consume({ user: id, team: id })
    await limiter.reset({ user: key.user, team: key.team })
    told.length = 0
    const { pid } = nodes[1] as RedisServer
    process.kill(pid, 'SIGSTOP')
    try {
      await expect(limiter.consume(key)).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT' })
      await vi.waitFor(() => expect(told).toEqual(['user']))
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    await vi.waitFor(() => expect(told).toEqual(['user', 'team']), { timeout: 5000 })
  })
})
