/* A Redis that is stopped for a while, while calls wait: how many calls start in a second. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { slidingLog } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { useRedis } from '../support/use-server.ts'

const { server, client } = await useRedis()
const limit = 50
/** A second, less the time by which timers are late. */
const span = 950

test('a stopped Redis: the process keeps the rate, also for calls whose start times were booked before', async () => {
  const policy = slidingLog({ limit, window: '1s' })
  const store = redisStore({ client, timeout: '500ms' }) // so that a busy machine does not count as a failure before the stop
  const pacer = new Pacer(policy, { store, name: 'stopped', storeTimeout: '500ms' })
  const starts: number[] = []
  const calls = Array.from({ length: 400 }, () => pacer.throttle(() => void starts.push(performance.now())))
  await sleep(1300)
  process.kill(server.pid, 'SIGSTOP')
  await sleep(3000)
  process.kill(server.pid, 'SIGCONT')
  const back = performance.now()
  await Promise.all(calls)
  const mostOf = (times: readonly number[]) =>
    Math.max(...times.map((from) => times.filter((at) => at >= from && at < from + span).length))
  expect(mostOf(starts.filter((at) => at < back))).toBe(limit)
  expect(mostOf(starts)).toBeLessThanOrEqual(2 * limit)
}, 30_000)
