import fc from 'fast-check'
import { expect, test } from 'vitest'
import { fixedWindow, memoryStore, RateLimiter, slidingLog, tokenBucket } from '../../../src/index.ts'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** Mostly the call before over again, with its key or the next, as the wire tells them in short. */
const call = fc.record({
  step: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(0, 1) }, fc.integer({ min: -3, max: 3 })),
  changes: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.constant(true)),
  verb: fc.constantFrom('consume', 'consume', 'peek', 'charge', 'refund', 'reset', 'reserve'),
  cost: fc.constantFrom(1, 1, 2),
  limiter: fc.constantFrom(0, 0, 1, 2),
  turn: fc.integer({ min: 0, max: 20 }).map((n) => n === 0),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

let runs = 0

test('calls that travel together are decided as they are one by one', async () => {
  const clock = new ManualClock()
  const property = fc.asyncProperty(fc.array(call, { minLength: 2, maxLength: 60 }), async (calls) => {
    const name = `run-${runs++}`
    const [memory, redis] = [
      memoryStore({ clock: clock.now }),
      redisStore({ client, timeout: '30s', clock: clock.now }),
    ].map((store) => [
      new RateLimiter({ name, store, policies: tokenBucket({ limit: 3, window: '1h' }) }),
      new RateLimiter({ name: `${name}-log`, store, policies: slidingLog({ limit: 3, window: '1h' }) }),
      new RateLimiter({
        name: `${name}-both`,
        store,
        policies: [
          fixedWindow({ name: 'user', limit: 2, window: '1h', scope: 'user' }),
          fixedWindow({ name: 'all', limit: 9, window: '1h', scope: 'all' }),
        ],
      }),
    ])
    expect(await play(redis as RateLimiter[], calls)).toEqual(await play(memory as RateLimiter[], calls))
  })
  await fc.assert(property, { numRuns: 2000 })
}, 60_000)

async function play(limiters: readonly RateLimiter[], calls: readonly Call[]): Promise<unknown[]> {
  const answers: Promise<unknown>[] = []
  let key = 0
  let last = calls[0] as Call
  for (const each of calls) {
    if (each.turn) await Promise.all(answers)
    if (each.changes) last = each
    key = (key + each.step + 7) % 7
    const limiter = limiters[last.limiter] as RateLimiter
    answers.push(ask(limiter, last, limiter.scopes.length === 1 ? `${key}` : { user: `${key}`, all: 'all' }))
  }
  return Promise.all(answers)
}

async function ask(limiter: RateLimiter, { verb, cost }: Call, key: string | Record<string, string>): Promise<unknown> {
  if (verb === 'reserve') return (await limiter.reserve(key, { cost })).decision
  if (verb === 'reset') return limiter.reset(key)
  return limiter[verb](key, { cost })
}

test('a refusal by one of several keys is not repeated without asking: of the others calls may take meanwhile', async () => {
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
