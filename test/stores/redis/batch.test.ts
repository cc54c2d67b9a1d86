import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter, slidingLog } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { checkBatchedCalls } from '../../support/batched-calls.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

test('calls that travel together are decided as if each came alone', () => checkBatchedCalls(client, 300))

test('calls behind one on a banned key are taken', async () => {
  const store = redisStore({ client, timeout: '30s' })
  const limiter = new RateLimiter({ name: 'behind', policies: slidingLog({ limit: 5, window: '1h' }), store })
  await limiter.ban('a', '1h')
  const ids = ['a', 'b', 'c']
  for (const left of [4, 3]) {
    const decisions = await Promise.all(ids.map((id) => limiter.consume(id)))
    expect(decisions.map(({ allowed }) => allowed)).toEqual([false, true, true])
    expect(
      (await Promise.all(ids.map((id) => limiter.peek(id)))).map(({ policies }) => policies[0]?.remaining),
    ).toEqual([5, left, left])
  }
})

test('a refusal by one of several keys is not cached while the other keys have units left', async () => {
  const store = redisStore({ client, timeout: '30s' })
  const user = fixedWindow({ name: 'user', limit: 1, window: '1h', scope: 'user' })
  const all = fixedWindow({ name: 'all', limit: 9, window: '1h', scope: 'all' })
  const limiter = new RateLimiter({ name: 'several', store, policies: [user, all] })
  const left = async (id: string) => {
    const { allowed, policies } = await limiter.consume({ user: id, all: 'all' })
    return [allowed, ...policies.map(({ remaining }) => remaining)]
  }
  expect(await left('A')).toEqual([true, 0, 8])
  expect(await left('A')).toEqual([false, 0, 8])
  expect(await left('B')).toEqual([true, 0, 7])
  expect(await left('A')).toEqual([false, 0, 7])
})
