/* Eight processes call all the time while another one writes an override with an end. */
import { type ChildProcess, fork } from 'node:child_process'
import cluster, { type Worker } from 'node:cluster'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter, type Store } from '../../src/index.ts'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

interface Seen {
  readonly decided: number
  readonly failed: number
  readonly admitted: number
  /** How many calls of another key had another limit. */
  readonly cold: number
  /** For each limit, when the calls began that were decided by it. */
  readonly times: Readonly<Record<number, readonly number[]>>
}

const program = fileURLToPath(new URL('../support/overrides-worker.mjs', import.meta.url))
const limit = 1_000_000_000
const raised = 2_000_000_000

function messageOf<Value>(from: ChildProcess | Worker, name: string): Promise<Value> {
  return new Promise((resolve, reject) => {
    from.on('message', (message: Record<string, unknown>) => {
      if (name in message) resolve(message[name] as Value)
    })
    from.on('exit', (code: number) => reject(new Error(`a process of the fleet ended, ${code}`)))
  })
}

async function play(kind: string, port: number, store: Store, processes: number): Promise<void> {
  const argument = JSON.stringify({ kind, port, limit })
  if (kind === 'cluster') cluster.setupPrimary({ exec: program, args: [argument] })
  const fleet = Array.from({ length: processes }, () =>
    kind === 'cluster' ? cluster.fork() : fork(program, [argument]),
  )
  try {
    const results = fleet.map((each) => messageOf<Seen>(each, 'result'))
    await Promise.all(fleet.map((each) => messageOf(each, 'ready')))
    const policies = fixedWindow({ name: 'month', limit, window: '365d' })
    const limiter = new RateLimiter({ name: 'api', policies, store, storeTimeout: '10s' })
    const begun = Date.now()
    for (const each of fleet) each.send({ until: begun + 6000, loops: 2 })
    await sleep(1000)
    const until = begun + 5000
    await limiter.override('hot', { limit: raised, until, reason: 'incident' })
    const written = Date.now()
    const seen = await Promise.all(results)
    const sum = (of: (each: Seen) => number) => seen.reduce((total, each) => total + of(each), 0)
    for (const { times } of seen) {
      const { [limit]: old = [], [raised]: next = [] } = times
      expect(next.length, 'each process has used the override').toBeGreaterThan(10)
      expect(Math.max(...next), 'no call by the override after its end').toBeLessThan(until)
      expect(
        old.filter((time) => time > written + 1000 && time < until),
        'no call by the old limit',
      ).toEqual([])
      expect(Math.max(...old), 'the old limit is back').toBeGreaterThanOrEqual(until)
    }
    expect(sum(({ failed }) => failed)).toBe(0)
    expect(sum(({ cold }) => cold)).toBe(0)
    expect(sum(({ decided }) => decided)).toBe(sum(({ admitted }) => admitted))
    expect((await limiter.usage('hot')).policies).toMatchObject([{ used: sum(({ admitted }) => admitted), limit }])
    expect(await limiter.overrides()).toEqual([])
    limiter.close()
  } finally {
    for (const each of fleet) if ('process' in each ? each.isConnected() : each.connected) each.disconnect()
  }
}

test('eight processes over Redis', { timeout: 60_000 }, async () => {
  const { port } = await useServer(startRedis())
  const client = new Redis(port)
  client.on('error', () => undefined)
  await play('redis', port, redisStore({ client, timeout: '5s' }), 8)
  client.disconnect()
})

test('the workers of a cluster', { timeout: 60_000 }, () => play('cluster', 0, clusterStore(), 2))
