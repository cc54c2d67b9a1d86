import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type RedisCluster, type RedisServer, startCluster, startRedis } from '../support/redis-server.ts'

const worker = new URL('../support/fleet-worker.mjs', import.meta.url)
const processes = 8
const calls = 2000
const limit = 1000

let server: RedisServer
let cluster: RedisCluster

beforeAll(async () => {
  server = await startRedis()
  cluster = await startCluster()
}, 60_000)

afterAll(async () => {
  await server.stop()
  await cluster.stop()
})

/** How many units the processes admit together. */
async function admitted(ports: number[], policy: string, store: object): Promise<number[]> {
  const task = JSON.stringify({ ports, policy, limit, calls, store })
  const children: ChildProcess[] = Array.from({ length: processes }, () => fork(worker, [task]))
  await Promise.all(children.map((child) => once(child, 'message')))
  const results = children.map((child) => once(child, 'message'))
  for (const child of children) child.send('go')
  return (await Promise.all(results)).map(([result]) => (result as { admitted: number }).admitted)
}

const sum = (numbers: number[]) => numbers.reduce((total, each) => total + each, 0)

describe.each(['fixedWindow', 'slidingLog'])('8 processes x 2,000 calls on one key of limit 1,000, %s', (policy) => {
  test('admit exactly 1,000 on Redis', async () => {
    expect(sum(await admitted([server.port], policy, { prefix: 'one' }))).toBe(limit)
  }, 60_000)

  test('admit exactly 1,000 without batches and local denial', async () => {
    const plain = { prefix: 'plain', batch: false, denyCache: false }
    expect(sum(await admitted([server.port], policy, plain))).toBe(limit)
  }, 60_000)

  test('admit exactly 1,000 on a cluster of 3 masters', async () => {
    const ports = cluster.nodes.map(({ port }) => port)
    expect(sum(await admitted(ports, policy, { prefix: 'three' }))).toBe(limit)
  }, 60_000)
})

test('leases admit no more, and strand at most units - 1 for each process', async () => {
  const units = 20
  const total = sum(await admitted([server.port], 'fixedWindow', { prefix: 'leases', leases: { units } }))
  expect(total).toBeLessThanOrEqual(limit)
  expect(total).toBeGreaterThanOrEqual(limit - processes * (units - 1))
}, 60_000)
