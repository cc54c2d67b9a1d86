import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { slidingLog } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { useRedis } from '../support/use-server.ts'

const { server, client } = await useRedis()
const worker = new URL('../support/pacer-worker.mjs', import.meta.url)

test('a process that is killed with 1,000 calls waiting holds the others up for about two seconds', async () => {
  const task = JSON.stringify({ port: server.port, limit: 100, window: 1000, calls: 1000 })
  const child = fork(worker, [task])
  await once(child, 'message')
  child.send('go')
  await sleep(500)
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
  const store = redisStore({ client, timeout: '10s' })
  const pacer = new Pacer(slidingLog({ limit: 100, window: 1000 }), { name: 'third-party', store })
  const waited = await pacer.acquire()
  expect(waited).toBeGreaterThan(500)
  expect(waited).toBeLessThan(4000)
})

test('after reset nobody waits for what it had booked', async () => {
  const task = JSON.stringify({ port: server.port, limit: 1, window: 60_000, calls: 3 })
  const child = fork(worker, [task])
  await once(child, 'message')
  child.send('go')
  await sleep(500)
  child.kill('SIGKILL')
  const store = redisStore({ client, timeout: '10s' })
  const pacer = new Pacer(slidingLog({ limit: 1, window: 60_000 }), { name: 'third-party', store })
  await pacer.reset()
  expect(await pacer.acquire()).toBeLessThan(1000)
})
