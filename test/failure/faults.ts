/*
 * Real faults of a real redis-server behind a real Express server, under load from autocannon, for all choices at once.
 *
 * Each choice has a limiter with 50 units a day for one key. Ten calls are made, the fault begins, the load runs, the fault
 * ends, and a hundred more calls follow. Time is real. The server measures how long a request waits for the limiter, from the
 * start of the middleware to its end, less the time that a busy machine did not run the process (support/lag.ts). At
 * most it may be the store's timeout and 50 ms.
 */
import { setTimeout as sleep } from 'node:timers/promises'
import { Redis } from 'ioredis'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { StoreErrorAction } from '../../src/index.ts'
import { choices, type LoadedApp, limit, startApp, timeout } from '../support/loaded-app.ts'
import { type RedisServer, startRedis } from '../support/redis-server.ts'
import { startProxy, type TcpProxy } from '../support/tcp-proxy.ts'

interface Scene {
  readonly server: RedisServer
  readonly proxy: TcpProxy
  /** A connection beside the proxy, made before the fault. */
  readonly admin: Redis
}

export interface Fault {
  begin(scene: Scene): unknown
  end(scene: Scene): unknown
  /** Calls that the store may have counted although they failed: those sent before the breaker opened. */
  readonly unknown?: number
  /** True if the store loses its states. */
  readonly forgets?: true
  /** Options for a client that would hide the fault. */
  readonly client?: object
}

/** A multiple of the 30 connections that share them. */
const requests = 150
const before = 10

export const faults: Record<string, Fault> = {
  'hung: accepts and never replies': {
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
    // Without WRITE, the command that ends the pause would wait for its end too.
    begin: ({ admin }) => admin.client('PAUSE', 60_000, 'WRITE'),
    end: ({ admin }) => admin.client('UNPAUSE'),
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
    client: { enableReadyCheck: false }, // else ioredis waits until loading has ended
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

async function setUp(): Promise<void> {
  unhandled.mockReset()
  process.on('unhandledRejection', unhandled)
  const server = await startRedis()
  const proxy = await startProxy(server.port)
  const admin = new Redis(server.port)
  admin.on('error', () => undefined)
  scene = { server, proxy, admin }
}

async function tearDown(): Promise<void> {
  await app.close()
  scene.admin.disconnect()
  scene.proxy.close()
  await scene.server.stop()
  process.off('unhandledRejection', unhandled)
  expect(unhandled).not.toHaveBeenCalled()
}

async function statusesOf(choice: StoreErrorAction, times: number): Promise<Record<number, number>> {
  const statuses: Record<number, number> = {}
  for (let n = 0; n < times; n++) {
    const { status } = await app.get(choice)
    statuses[status] = (statuses[status] ?? 0) + 1
  }
  return statuses
}

/** Waits until every limiter's store responds and is reconciled. Calls of another key send the probes. */
async function recovered(): Promise<void> {
  const well = ({ state, owing }: { state: string; owing: number }) => state === 'closed' && owing === 0
  const began = performance.now()
  while (!choices.every((choice) => well(app.limiters[choice].health()))) {
    await Promise.all(choices.map((choice) => app.get(choice, 'probe')))
    await sleep(20)
    if (performance.now() - began > 5000) throw new Error('not recovered in 5 s')
  }
}

/** What clients see, how long they wait, and that the limit holds again. */
async function survives({ begin, end, unknown = 0, forgets, client }: Fault): Promise<void> {
  app = await startApp(scene.proxy.port, client)
  for (const choice of choices) expect(await statusesOf(choice, before)).toEqual({ 200: before })
  app.seen()
  await begin(scene)
  const { errors, statusCodeStats } = await app.load(requests)
  const seen = app.seen()
  const refusal = await app.get('closed')
  await end(scene)
  await recovered()

  // Clients see the choice and nothing else.
  expect(errors).toBe(0)
  const byStatus = Object.entries(statusCodeStats).map(([status, { count }]) => [status, count])
  expect(Object.fromEntries(byStatus)).toEqual({ 200: requests + limit, 429: requests - limit, 503: requests })
  expect(seen.closed.answers).toEqual({ '503 none': requests })
  expect(seen.open.answers).toEqual({ '200 open': requests })
  expect(seen.local.answers).toEqual({ '200 fallback': limit, '429 fallback': requests - limit })
  expect([refusal.status, refusal.headers.get('cache-control'), refusal.headers.get('retry-after')]).toEqual([
    503,
    'no-store',
    '1',
  ])
  // No request waits longer than the deadline and 50 ms.
  for (const choice of choices) expect(seen[choice].slowest).toBeLessThan(timeout + 50)

  // The limit holds again. Local decisions were charged: with the ten before, 60 of 50 units are used.
  expect(await statusesOf('local', 100)).toEqual({ 429: 100 })
  const left = forgets ? limit : limit - before
  for (const choice of ['closed', 'open'] as const) {
    const { 200: admitted = 0, 429: refused, ...others } = await statusesOf(choice, 100)
    expect([admitted + (refused as number), others]).toEqual([100, {}])
    expect(admitted).toBeLessThanOrEqual(left)
    expect(admitted).toBeGreaterThanOrEqual(left - unknown)
  }
}

/** Registers one test for each of these faults. */
export function testFaults(names: readonly string[]): void {
  beforeEach(setUp)
  afterEach(tearDown)
  test.each(names)('%s: clients see the choice, no request waits long, and the limit holds again', (name) => {
    return survives(faults[name] as Fault)
  })
}

/** Registers the test of a script that Redis forgets. Call it after `testFaults`. */
export function testScriptFlush(): void {
  test('SCRIPT FLUSH under load changes no decision', async () => {
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
}
