/* Thresholds on a real Redis: by the script of a plan, by the whole script, with leases, and over two processes. */
import { Cluster, Redis } from 'ioredis'
import { afterAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { calendarWindow } from '../../../src/calendar/index.ts'
import { RateLimiter, type RateLimiterOptions, type ThresholdEvent } from '../../../src/index.ts'
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

  interface Told {
    readonly scope: string
    readonly threshold: number
    readonly used: number
  }

  /** A limiter with a month for each user and each team, and what it has told. */
  function byUserAndTeam(name: string, options: Partial<RateLimiterOptions> = {}, timeout = '10s') {
    const told: Told[] = []
    const store = redisStore({ client: cluster, timeout, clock: () => Date.UTC(2026, 10, 23) })
    const policies = ['user', 'team'].map((scope) =>
      calendarWindow({ name: scope, scope, limit: 10, every: 'month', thresholds: [0.5, 1] }),
    )
    const onThreshold = ({ scope, threshold, used }: ThresholdEvent) => void told.push({ scope, threshold, used })
    const terms = { name, policies, store, onThreshold, onStoreError: 'throw', ...options } as const
    return { limiter: new RateLimiter(terms as RateLimiterOptions), told }
  }

  test.each(['consume', 'reserve'] as const)(
    'a %s that another slot refuses tells nothing, and the call that then takes the units tells once',
    async (verb) => {
      const { limiter, told } = byUserAndTeam(`told-refused-${verb}`)
      const key = { user: idOf(0), team: idOf(1) }
      await limiter.consume(key, { cost: { user: 0, team: 4 } })
      const take = async (cost: { user: number; team: number }): Promise<boolean> => {
        const { allowed } = await limiter[verb](key, { cost })
        return allowed
      }
      expect(await take({ user: 10, team: 7 })).toBe(false)
      expect(told).toEqual([])
      expect((await limiter.usage(key)).policies.map(({ used }) => used)).toEqual([0, 4])
      expect(await take({ user: 10, team: 1 })).toBe(true)
      const all = [
        { scope: 'user', threshold: 0.5, used: 10 },
        { scope: 'user', threshold: 1, used: 10 },
        { scope: 'team', threshold: 0.5, used: 5 },
      ]
      expect(told).toEqual(all)
      expect(await take({ user: 0, team: 1 })).toBe(true)
      expect(told).toEqual(all)
    },
  )

  test('many calls at the same time, refused ones among them, tell each threshold once', async () => {
    const { limiter, told } = byUserAndTeam('told-many')
    const teams = [1, 2].map((node) => ({ user: idOf(0), team: idOf(node) }))
    const calls = Array.from({ length: 40 }, (_, n) => limiter.consume(teams[n % 2] as { user: string; team: string }))
    const admitted = (await Promise.all(calls)).filter(({ allowed }) => allowed).length
    const { used } = (await limiter.usage(teams[0] as { user: string; team: string })).policies[0] as { used: number }
    expect(used).toBe(admitted)
    const ofUser = told.filter(({ scope }) => scope === 'user').map(({ threshold }) => threshold)
    expect(ofUser).toEqual([0.5, 1].slice(0, admitted === 10 ? 2 : admitted >= 5 ? 1 : 0))
  })

  test('the call that spends the quota and begins a ban tells its thresholds', async () => {
    const { limiter, told } = byUserAndTeam('told-ban', { penalty: { on: 'spent', ban: '60d', scope: 'user' } })
    const key = { user: idOf(0), team: idOf(1) }
    expect(await limiter.consume(key, { cost: { user: 10, team: 1 } })).toMatchObject({ banned: 60 * 86_400_000 })
    expect(told.map(({ scope, threshold }) => `${scope} ${threshold}`)).toEqual(['user 0.5', 'user 1'])
  })

  test('a policy without a cost in the call tells nothing', async () => {
    const { limiter, told } = byUserAndTeam('told-costs')
    const key = { user: idOf(0), team: idOf(1) }
    await limiter.reserve(key, { cost: { user: 0, team: 4 } })
    const big = calendarWindow({ name: 'user', scope: 'user', limit: 1000, every: 'month', thresholds: [0.5, 1] })
    const other = calendarWindow({ name: 'extra', scope: 'user', limit: 2, every: 'month', thresholds: [0.5] })
    await limiter.withPlan(big).consume(key, { cost: 9 })
    const small = [
      calendarWindow({ name: 'user', scope: 'user', limit: 10, every: 'month', thresholds: [0.5, 1] }),
      other,
      calendarWindow({ name: 'team', scope: 'team', limit: 10, every: 'month', thresholds: [0.5, 1] }),
    ]
    await limiter.withPlan(small).consume(key, { cost: { user: 0, extra: 1, team: 1 } })
    expect(told.map(({ scope, threshold, used }) => [scope, threshold, used])).toEqual([
      ['user', 0.5, 1],
      ['team', 0.5, 5],
    ])
  })

  test('a call that one node answers, and another node too late, tells nothing, because its units come back', async () => {
    const { limiter, told } = byUserAndTeam('told-by-node', {}, '250ms')
    const key = { user: idOf(0), team: idOf(1) }
    for (const id of [key.user, key.team]) await limiter.consume({ user: id, team: id })
    await limiter.reset(key)
    const { pid } = nodes[1] as RedisServer
    process.kill(pid, 'SIGSTOP')
    try {
      await expect(limiter.consume(key, { cost: 10 })).rejects.toMatchObject({ code: 'HEADGATE_STORE_TIMEOUT' })
    } finally {
      process.kill(pid, 'SIGCONT')
    }
    const usedNow = async () => (await limiter.usage(key).catch(() => undefined))?.policies.map(({ used }) => used)
    await vi.waitFor(async () => expect(await usedNow()).toEqual([0, 0]), { timeout: 5000 })
    expect(told).toEqual([])
    await limiter.consume(key, { cost: 5 })
    expect(told.map(({ scope }) => scope)).toEqual(['user', 'team'])
  })
})
