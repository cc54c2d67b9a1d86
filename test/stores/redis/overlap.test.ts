import { expect, test } from 'vitest'
import { fixedWindow, RateLimiter } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** Each script call so far: how many keys it has, and when it left, in milliseconds. */
const sent: { keys: number; at: number }[] = []
/** How long a round trip takes at least, in milliseconds. */
let slowness = 0
const evalsha = client.evalsha.bind(client)
client.evalsha = (async (sha: string, keys: number, ...rest: string[]) => {
  const at = performance.now()
  sent.push({ keys, at })
  const reply = await evalsha(sha, keys, ...rest)
  while (performance.now() - at < slowness);
  return reply
}) as typeof client.evalsha

function limiterOf(name: string): RateLimiter {
  const store = redisStore({ client, timeout: '30s' })
  return new RateLimiter({ name, policies: fixedWindow({ limit: 3, window: '1h' }), store })
}

let names = 0

/** The script calls for so many calls at once, some time after the answer to another call. */
async function sentAtOnce(calls: number, after: number, limiter = limiterOf(`${names++}`)): Promise<typeof sent> {
  await limiter.consume('first')
  await limiter.consume('again') // the first one may have brought the script
  if (after > 0) await new Promise((resolve) => setTimeout(resolve, after))
  sent.length = 0
  await Promise.all(Array.from({ length: calls }, (_, n) => limiter.consume(`${n}`)))
  return [...sent]
}

test.each([
  [1, [1]],
  [9, [9]],
  [31, [31]],
  [64, [32, 32]],
])('%d calls that follow no answer leave in script calls of %j keys', async (calls, expected) => {
  expect((await sentAtOnce(calls, 50)).map(({ keys }) => keys)).toEqual(expected)
})

test.each([
  [1, [1]],
  [7, [7]],
])('%d calls that follow an answer leave in script calls of %j keys', async (calls, expected) => {
  expect((await sentAtOnce(calls, 0)).map(({ keys }) => keys)).toEqual(expected)
})

test.each([
  [8, [4, 4]],
  [9, [5, 4]],
  [31, [16, 15]],
])('%d calls that follow an answer at once leave in script calls of %j keys', async (calls, expected) => {
  slowness = 0.4
  // On a busy machine it may take longer until they leave.
  await expect
    .poll(async () => (await sentAtOnce(calls, 0)).map(({ keys }) => keys), { timeout: 20_000, interval: 1 })
    .toEqual(expected)
  slowness = 0
})

test('the second half leaves at least 40 us after the first, if a round trip takes longer than 80', async () => {
  slowness = 0.2
  const gaps: number[] = []
  const limiter = new RateLimiter({ name: 'gaps', policies: '1000/1h', store: redisStore({ client, timeout: '30s' }) })
  // At first the code is slow by itself.
  for (let n = 0; n < 500; n++) {
    const [first, second] = await sentAtOnce(9, 0, limiter)
    if (first !== undefined && second !== undefined) gaps.push(second.at - first.at)
  }
  slowness = 0
  // A pause between reading the time and sending shortens a single gap.
  expect(gaps.sort((a, b) => a - b)[Math.floor(gaps.length / 50)]).toBeGreaterThan(0.037)
})

test('callers who go on without a pause keep two script calls under way', async () => {
  const limiter = limiterOf('going-on')
  await limiter.consume('first')
  sent.length = 0
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
  expect(sent.length).toBeGreaterThanOrEqual(1600 / 16)
  expect(sent.length).toBeLessThanOrEqual(1600 / 4)
})

test('calls for one key keep their order across both halves', async () => {
  const keys = [...'abcdefghi']
  const sizes = async () => {
    const limiter = limiterOf(`${names++}`)
    await limiter.consume('first')
    await limiter.consume('again')
    sent.length = 0
    const calls = Array.from({ length: 27 }, (_, n) => limiter.consume(keys[n % 9] as string))
    const left = (await Promise.all(calls)).map(({ remaining }) => remaining)
    expect(left).toEqual([2, 1, 0].flatMap((remaining) => keys.map(() => remaining)))
    return sent.map((each) => each.keys)
  }
  slowness = 0.4
  await expect.poll(sizes, { timeout: 20_000, interval: 1 }).toEqual([5, 4])
  slowness = 0
})
