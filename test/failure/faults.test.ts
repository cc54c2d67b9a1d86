/*
 * Real faults of a real redis-server, under a real Express server with a load from autocannon, all choices at once.
 *
 * Each choice has its limiter, 50 in a day on one key. Ten calls are made, the fault begins, the load runs, the fault ends,
 * and a hundred calls more follow. Time is real here; how long a request waited for the limiter is measured in the server,
 * from where the middleware begins to where it lets go, less the time that the process was kept from its work by a busy
 * machine (support/lag.ts): the store's timeout and 50 ms more are the most.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Choice } from '../../src/index.ts'
import { choices, type LoadedApp, limit, startApp, timeout } from '../support/loaded-app.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

interface Scene {
  readonly server: RedisServer
  readonly proxy: TcpProxy
  /** A connection beside the proxy, made before the fault. */
  readonly admin: Redis
}

interface Fault {
  begin(scene: Scene): unknown
  end(scene: Scene): unknown
  /** Calls that the store may have counted although nobody was told: those sent before the breaker opened. */
  readonly unknown?: number
  /** Whether the store has lost what it knew. */
  readonly forgets?: true
  /** For the client, where it would hide the fault. */
  readonly client?: object
}

/** A multiple of the 30 connections that share them. */
const requests = 150
const before = 10

const faults: Record<string, Fault> = {
  'hung: accepts and never answers': {
    begin: ({ proxy }) => {
      proxy.silent = true
    },
    end: ({ proxy }) => {
      proxy.silent = false
      proxy.cut()
    },
  },
  'killed and restarted, empty': {
    begin: ({ server }) => server.stop(),
    end: ({ server }) => server.start(),
    forgets: true,
  },
  'paused by SIGSTOP': {
    begin: ({ server }) => process.kill(server.pid, 'SIGSTOP'),
    end: ({ server }) => process.kill(server.pid, 'SIGCONT'),
    unknown: limit,
  },
  'paused by CLIENT PAUSE': {
    begin: ({ admin }) => admin.client('PAUSE', 4000),
    end: async ({ server }) => {
      await server.command('PING') // answered when the pause is over
    },
    unknown: limit,
  },
  'full: OOM': {
    begin: ({ admin }) => admin.config('SET', 'maxmemory', 1),
    end: ({ admin }) => admin.config('SET', 'maxmemory', 0),
  },
  'a read-only replica': {
    begin: ({ admin }) => admin.replicaof('127.0.0.1', 1),
    end: ({ admin }) => admin.replicaof('NO', 'ONE'),
  },
  'a wrong password': {
    begin: async ({ admin }) => {
      await admin.config('SET', 'requirepass', 'another')
      await admin.call('CLIENT', 'KILL', 'TYPE', 'normal')
    },
    end: ({ admin }) => admin.config('SET', 'requirepass', ''),
  },
  loading: {
    client: { enableReadyCheck: false }, // else ioredis itself waits for the end of it
    begin: async ({ server, admin }) => {
      const pipeline = admin.pipeline()
      for (let n = 0; n < 1300; n++) pipeline.set(`filler-${n}`, 'x'.repeat(100))
      await pipeline.exec()
      await admin.save()
      await server.stop()
      server.launch('--key-load-delay', '3000', '--loading-process-events-interval-bytes', '1024')
      while (!(await server.command('PING').catch(() => '')).startsWith('-LOADING')) await sleep(10)
    },
    end: async ({ server }) => {
      while (!(await server.command('PING')).startsWith('+PONG')) await sleep(20)
    },
  },
  'a slow network: delays': {
    begin: ({ proxy }) => {
      proxy.delay = 400
    },
    end: async ({ proxy }) => {
      proxy.delay = 0
      await sleep(900)
    },
    unknown: limit,
  },
  'a network that cuts': {
    begin: ({ proxy }) => {
      proxy.cutEvery = 1
    },
    end: ({ proxy }) => {
      proxy.cutEvery = 0
    },
    unknown: limit,
  },
}

let scene: Scene
let app: LoadedApp
const unhandled = vi.fn()

beforeEach(async () => {
  unhandled.mockReset()
  process.on('unhandledRejection', unhandled)
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  const admin = new Redis(server.port)
  admin.on('error', () => undefined)
  scene = { server, proxy, admin }
})

afterEach(async () => {
  await app.close()
  scene.admin.disconnect()
  scene.proxy.close()
  await scene.server.stop()
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
})

function heap(): number {
  collect()
  return process.memoryUsage().heapUsed / 2 ** 20
}

async function statusesOf(choice: Choice, times: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  for (let n = 0; n < times; n++) {
    const { status } = await app.get(choice)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return statuses
}

/** Until every limiter's store answers and has been told of everything; probes are sent by calls of another key. */
async function recovered(): Promise<void> {
  const well = ({ state, owing }: { state: string; owing: number }) => state === 'closed' && owing === 0
  const began = performance.now()
  while (!choices.every((choice) => well(app.limiters[choice].health()))) {
    await Promise.all(choices.map((choice) => app.get(choice, 'probe')))
    await sleep(20)
    if (performance.now() - began > 5000) throw new Error('not recovered in 5 s')
  }
}

describe.each(Object.entries(faults))('%s', (_, { begin, end, unknown = 0, forgets, client }) => {
  test('what clients see, how long they wait, and that the limit holds again', async () => {
    app = await startApp(scene.proxy.port, client)
    for (const choice of choices) expect(await statusesOf(choice, before)).toEqual({ 200: before })
    app.seen()
    const heapBefore = heap()
    await begin(scene)
    const { errors, statusCodeStats } = await app.load(requests)
    const seen = app.seen()
    const refusal = await app.get('deny')
    app.seen()
    const grown = heap() - heapBefore
    await end(scene)
    await recovered()

    // What clients see is the choice, and nothing else.
    expect(errors).toBe(0)
    const byStatus = Object.entries(statusCodeStats).map(([status, { count }]) => [status, count])
    expect(Object.fromEntries(byStatus)).toEqual({ 200: requests + limit, 429: requests - limit, 503: requests })
    expect(seen.deny.answers).toEqual({ '503 none': requests })
    expect(seen.allow.answers).toEqual({ '200 open': requests })
    expect(seen.local.answers).toEqual({ '200 fallback': limit, '429 fallback': requests - limit })
    expect([refusal.status, refusal.headers.get('cache-control'), refusal.headers.get('retry-after')]).toEqual([
      503,
      'no-store',
      '1',
    ])
    // Nobody waits for longer than the deadline and 50 ms, and nothing piles up.
    for (const choice of choices) expect(seen[choice].slowest).toBeLessThan(timeout + 50)
    expect(grown).toBeLessThan(4)

    // The limit holds again. What was decided here was charged: with the ten before, 60 of 50 in that day, and no more.
    expect(await statusesOf('local', 100)).toEqual({ 429: 100 })
    const left = forgets ? limit : limit - before
    for (const choice of ['deny', 'allow'] as const) {
      const { 200: admitted = 0, 429: refused, ...others } = await statusesOf(choice, 100)
      expect([admitted + (refused as number), others]).toEqual([100, {}])
      expect(admitted).toBeLessThanOrEqual(left)
      expect(admitted).toBeGreaterThanOrEqual(left - unknown)
    }
  })
})

test('SCRIPT FLUSH under load: nobody sees anything of it', async () => {
  app = await startApp(scene.proxy.port)
  const load = app.load(requests)
  for (let n = 0; n < 10; n++) {
    await sleep(100)
    await scene.admin.script('FLUSH')
  }
  const { errors, statusCodeStats } = await load
  expect([errors, Object.keys(statusCodeStats).sort()]).toEqual([0, ['200', '429']])
  for (const seen of Object.values(app.seen())) {
    expect(seen.answers).toEqual({ '200 store': limit, '429 store': requests - limit })
    expect(seen.slowest).toBeLessThan(timeout)
  }
})
