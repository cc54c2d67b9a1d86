import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** The number of keys of each script call so far. */
const sizes: number[] = []
const evalsha = client.evalsha.bind(client)
client.evalsha = ((sha: string, keys: number, ...rest: string[]) => {
  sizes.push(keys)
  return evalsha(sha, keys, ...rest)
}) as typeof client.evalsha

function limiterOf(name: string): RateLimiter {
  const store = redisStore({ client, timeout: '30s' })
  return new RateLimiter({ name, policies: fixedWindow({ limit: 3, window: '1h' }), store })
}

/** The keys of the script calls of a limiter that Redis already knows, for so many calls at once. */
async function sizesOf(limiter: RateLimiter, calls: number): Promise<number[]> {
  await limiter.consume('first')
  sizes.length = 0
  await Promise.all(Array.from({ length: calls }, (_, n) => limiter.consume(`${calls} ${n}`)))
  return [...sizes]
}

test.each([
  [1, [1]],
  [3, [3]],
  [7, [7]],
  [8, [4, 4]],
  [9, [5, 4]],
  [31, [16, 15]],
  [64, [32, 32]],
])('%d calls while nothing is under way leave in script calls of %j keys', async (calls, expected) => {
  expect(await sizesOf(limiterOf('halves'), calls)).toEqual(expected)
})

test('callers who go on without a pause keep two script calls under way', async () => {
  const limiter = limiterOf('going-on')
  await limiter.consume('first')
  sizes.length = 0
  let calls = 0
  const caller = async (name: number): Promise<void> => {
    for (let n = 0; n < 100; n++) {
      await limiter.consume(`${name} ${n}`)
      calls++
    }
  }
  await Promise.all(Array.from({ length: 16 }, (_, name) => caller(name)))
  expect(calls).toBe(1600)
  // Halves of eight, unless several answers arrive together.
  expect(sizes.length).toBeGreaterThanOrEqual(1600 / 16)
  expect(sizes.length).toBeLessThanOrEqual(1600 / 4)
})

test('calls for one key keep their order across both halves', async () => {
  const limiter = limiterOf('order')
  await limiter.consume('first')
  sizes.length = 0
  const keys = [...'abcdefghi']
  const calls = Array.from({ length: 27 }, (_, n) => limiter.consume(keys[n % 9] as string))
  const left = (await Promise.all(calls)).map(({ remaining }) => remaining)
  expect(left).toEqual([2, 1, 0].flatMap((remaining) => keys.map(() => remaining)))
  expect(sizes).toEqual([5, 4])
})
