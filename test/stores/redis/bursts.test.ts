/* What callers see of batches: their order, exact numbers, few script calls, and no wait for a call that is alone. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter, tokenBucket } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()
let names = 0

function limitersOf(count: number, limit: number): RateLimiter[] {
  const store = redisStore({ client, timeout: '30s' })
  const policies = fixedWindow({ limit, window: '1h' })
  return Array.from({ length: count }, () => new RateLimiter({ name: `bursts-${names++}`, policies, store }))
}

async function scriptCalls(): Promise<number> {
  const stats = await client.info('commandstats')
  return ['eval', 'evalsha'].reduce((sum, command) => {
    return sum + Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(stats)?.[1] ?? 0)
  }, 0)
}

test.each([1, 7, 8, 9, 31, 33, 64, 200])('%d calls at once keep their order, whatever they ask', async (calls) => {
  const [one, other] = limitersOf(2, 10_000) as [RateLimiter, RateLimiter]
  // The second round follows an answer at once, the third one a pause.
  let taken = 0
  for (const pause of [0, 0, 20]) {
    await sleep(pause)
    const expected: number[] = []
    const answers = Array.from({ length: calls }, (_, n) => {
      void other.consume(`${n}`)
      const cost = (n % 3) + 1
      const looks = n % 11 === 10
      if (!looks) taken += cost
      expected.push(10_000 - taken)
      return looks ? one.peek('k') : one.consume('k', { cost })
    })
    expect((await Promise.all(answers)).map(({ remaining }) => remaining)).toEqual(expected)
  }
})

test('calls for several keys at once keep the order of each key', async () => {
  const [limiter] = limitersOf(1, 3) as [RateLimiter]
  await limiter.consume('first')
  const keys = [...'abcdefghi']
  const calls = Array.from({ length: 36 }, (_, n) => limiter.consume(keys[n % 9] as string))
  const decisions = await Promise.all(calls)
  expect(decisions.map(({ remaining }) => remaining)).toEqual([2, 1, 0, 0].flatMap((left) => keys.map(() => left)))
  expect(decisions.map(({ allowed }) => allowed)).toEqual(decisions.map((_, n) => n < 27))
})

test.each([
  ['callers who go on without a pause', 0],
  ['callers who pause', 1],
])('%s: no call is lost, no unit is admitted twice, and calls share script calls', async (_, pause) => {
  const [limiter] = limitersOf(1, 1500) as [RateLimiter]
  const before = await scriptCalls()
  let admitted = 0
  let decided = 0
  const caller = async (): Promise<void> => {
    for (let n = 0; n < 100; n++) {
      if ((await limiter.consume('k', { cost: 1 })).allowed) admitted++
      decided++
      if (pause > 0) await sleep(pause)
    }
  }
  await Promise.all(Array.from({ length: 16 }, caller))
  expect([decided, admitted]).toEqual([1600, 1500])
  expect((await scriptCalls()) - before).toBeLessThan(1600 / 2)
})

test('a burst takes a few script calls', async () => {
  const [limiter] = limitersOf(1, 3) as [RateLimiter]
  await limiter.consume('first')
  const before = await scriptCalls()
  await Promise.all(Array.from({ length: 1000 }, (_, n) => limiter.consume(`${n}`)))
  // About ten. A crowded machine may send some messages before they are full.
  expect((await scriptCalls()) - before).toBeLessThan(30)
})

test('a call that is alone leaves before the next turn of the event loop', async () => {
  let turn = 0
  const left: number[] = []
  const watched = Object.create(client, {
    evalsha: {
      value: (...args: Parameters<typeof client.evalsha>) => {
        left.push(turn)
        return client.evalsha(...args)
      },
    },
  })
  const store = redisStore({ client: watched, timeout: '30s' })
  const limiter = new RateLimiter({ name: 'alone', policies: tokenBucket({ limit: 9, window: '1h' }), store })
  for (let n = 0; n < 5; n++) {
    const call = limiter.consume('k')
    const next = new Promise((resolve) => setImmediate(resolve)).then(() => turn++)
    expect((await call).remaining).toBe(8 - n)
    await next
  }
  expect(left).toEqual([0, 1, 2, 3, 4])
})

test('a client that begins to gather commands into pipelines goes on', async () => {
  const own = client.duplicate()
  try {
    const store = redisStore({ client: own, timeout: '30s' })
    const limiter = new RateLimiter({ name: 'gathers', policies: '10/1h', store })
    for (let n = 0; n < 3; n++) expect((await limiter.consume('k')).remaining).toBe(9 - n)
    own.options.enableAutoPipelining = true
    for (let n = 3; n < 6; n++) expect((await limiter.consume('k')).remaining).toBe(9 - n)
  } finally {
    own.disconnect()
  }
})
