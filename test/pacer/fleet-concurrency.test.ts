import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { Redis } from 'ioredis'
import { afterAll, beforeEach, expect, test } from 'vitest'
import { concurrency, fixedWindow } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

/* A limit of calls in flight over several processes, on a real Redis. */

const worker = new URL('../support/in-flight-worker.mjs', import.meta.url)
const server = await useServer(startRedis())
const client = new Redis(server.port)

beforeEach(() => server.command('FLUSHALL'))
afterAll(() => client.disconnect())

interface Run {
  begin: number
  end: number
}

async function startProcesses(count: number, task: object): Promise<ChildProcess[]> {
  const argument = JSON.stringify({ port: server.port, ...task })
  const children = Array.from({ length: count }, () => fork(worker, [argument]))
  await Promise.all(children.map((child) => once(child, 'message')))
  return children
}

/** The most runs at any time. */
function mostAtOnce(runs: readonly Run[]): number {
  const changes = runs.flatMap(({ begin, end }) => [
    { at: begin, by: 1 },
    { at: end, by: -1 },
  ])
  changes.sort((a, b) => a.at - b.at || a.by - b.by)
  let [most, now] = [0, 0]
  for (const { by } of changes) {
    now += by
    most = Math.max(most, now)
  }
  return most
}

test('4 processes run 60 functions, never more than 3 at once, and every process gets its share', async () => {
  const children = await startProcesses(4, { limit: 3, lease: '20s', calls: 15, length: 10 })
  const results = children.map((child) => once(child, 'message'))
  for (const child of children) child.send('go')
  const runs = (await Promise.all(results)).map(([result]) => result as Run[])
  expect(runs.map(({ length }) => length)).toEqual([15, 15, 15, 15])
  expect(mostAtOnce(runs.flat())).toBe(3)
  // All is released: the whole limit is free at once.
  const pacer = new Pacer(concurrency({ limit: 3, lease: '20s' }), {
    name: 'fleet',
    store: redisStore({ client, timeout: '5s' }),
  })
  const { allowed } = await pacer.reserve(3)
  expect(allowed).toBe(true)
}, 60_000)

test('a process that is killed blocks nobody for longer than its lease, and one that lives keeps its unit', async () => {
  const lease = 1500
  const [holder] = await startProcesses(1, { limit: 1, lease, calls: 1, length: 0 })
  holder?.send('go')
  await once(holder as ChildProcess, 'message') // it holds the unit
  const store = redisStore({ client, timeout: '5s' })
  const pacer = new Pacer(concurrency({ limit: 1, lease }), { name: 'fleet', store, poll: '20ms' })
  let done = false
  const waiting = pacer
    .throttle(() => performance.now())
    .finally(() => {
      done = true
    })
  await new Promise((resolve) => setTimeout(resolve, 2 * lease))
  expect(done).toBe(false)
  const killed = performance.now()
  process.kill(holder?.pid as number, 'SIGKILL')
  // At most the lease, and the time between two polls.
  expect((await waiting) - killed).toBeLessThan(lease + 80 + 300)
}, 30_000)

test('beside a rate, a call takes from both or from none', async () => {
  const policies = [fixedWindow({ name: 'rate', limit: 3, window: '1h' }), concurrency({ limit: 1, lease: '20s' })]
  const pacer = new Pacer({ policies, name: 'both', store: redisStore({ client, timeout: '5s' }), poll: '10ms' })
  const first = await pacer.reserve()
  const others = [pacer.throttle(() => 'one'), pacer.throttle(() => 'two')]
  const refused = await pacer.reserve()
  expect([first.allowed, refused.allowed]).toEqual([true, false])
  await first.settle(1)
  expect(await Promise.all(others)).toEqual(['one', 'two'])
  await pacer.drain()
  const last = await pacer.reserve({ rate: 1, 'at-once': 1 })
  expect([last.allowed, last.retryAfter > 1000]).toEqual([false, true])
})
