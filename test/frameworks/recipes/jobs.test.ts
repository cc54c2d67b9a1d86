import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Redis } from 'ioredis'
import { afterAll, afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { headgateWarnings } from '../../support/headgate-warnings.ts'
import { startRedis } from '../../support/redis-server.ts'
import { useServer } from '../../support/use-server.ts'
import { createQueue, startWorker } from '../.examples/jobs.ts'

/* The program of docs/recipes/jobs.md: workers with a connection and a pacer each, a real Redis and a real API. */

afterAll(async () => expect(await headgateWarnings(), 'no false alarm').toEqual([]))

interface Call {
  at: number
  key: unknown
  status: number
}

const redis = await useServer(startRedis())
const calls: Call[] = []
let answer: () => { status: number; fields?: Record<string, number> }
const api = createServer((request, response) => {
  const { status, fields = {} } = answer()
  calls.push({ at: performance.now(), key: request.headers['idempotency-key'], status })
  request.resume().on('end', () => response.writeHead(status, fields).end())
})
await once(api.listen(0, '127.0.0.1'), 'listening')
afterAll(() => api.close().closeAllConnections())
const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/mails`

let queue: ReturnType<typeof createQueue>

/** A connection of a process of its own. */
function connect() {
  const client = new Redis(redis.port, { maxRetriesPerRequest: null })
  onTestFinished(() => client.disconnect())
  return client
}

function work() {
  const worker = startWorker(connect(), url)
  onTestFinished(() => worker.close(true))
  return worker
}

beforeEach(async () => {
  await redis.command('FLUSHALL')
  calls.length = 0
  queue = createQueue(connect())
})
afterEach(() => queue.close())

const until = (holds: () => void | Promise<void>) => vi.waitFor(holds, 20_000)
const mails = (count: number) =>
  queue.addBulk(Array.from({ length: count }, (_, n) => ({ name: 'mail', data: { to: `user-${n}`, text: 'hi' } })))

test('two workers keep the pace together, and call nobody from a 429 to the end of its hold', async () => {
  const outage = 1500
  let end = Infinity
  answer = () => {
    const now = performance.now()
    if (calls.length === 8) end = now + outage
    if (calls.length < 8 || now >= end) return { status: 200 }
    return { status: 429, fields: { 'Retry-After-Ms': Math.ceil(end - now) } }
  }
  await mails(24)
  const done = [work(), work()].map((worker) => {
    const ids: unknown[] = []
    worker.on('completed', ({ id }) => ids.push(id))
    return ids
  })
  await until(() => expect(done.flat()).toHaveLength(24))
  expect(Math.min(...done.map(({ length }) => length))).toBeGreaterThan(0)

  const sent = calls.filter(({ status }) => status === 200).map(({ key }) => key)
  expect(sent.toSorted()).toEqual(Array.from({ length: 24 }, (_, n) => `mail-${n + 1}`).toSorted())
  const inSecond = calls.map(({ at }) => calls.filter((call) => call.at >= at && call.at < at + 1000).length)
  expect(Math.max(...inSecond)).toBeLessThanOrEqual(10)
  // Calls are 125 ms apart, so the next one of the other worker was booked long before.
  const refused = calls.filter(({ status }) => status === 429).map(({ at }) => at)
  expect(refused.filter((at) => at - (refused[0] ?? 0) > 80)).toEqual([])
})

test('a worker that is stopped during a hold gives its jobs back, and calls nobody any more', async () => {
  answer = () => ({ status: 429, fields: { 'Retry-After': 3 } })
  const worker = work()
  await mails(3)
  await until(async () => expect([calls.length > 0, await queue.getActiveCount()]).toEqual([true, 3]))
  const before = calls.length
  worker.cancelAllJobs()
  await worker.close()
  expect(await queue.getJobCounts('active', 'delayed', 'failed')).toEqual({ active: 0, delayed: 3, failed: 0 })
  expect(calls).toHaveLength(before)
})

test('a job whose mail was not sent runs again later, with the same key', async () => {
  answer = () => ({ status: calls.length === 0 ? 500 : 200 })
  work()
  const [job] = await mails(1)
  await until(async () => expect(await job?.getState()).toBe('delayed'))
  await job?.promote()
  await until(async () => expect(await job?.getState()).toBe('completed'))
  expect(calls.map(({ key, status }) => [key, status])).toEqual([
    ['mail-1', 500],
    ['mail-1', 200],
  ])
})
