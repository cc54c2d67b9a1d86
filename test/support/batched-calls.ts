import type { Redis } from 'ioredis'
import { expect } from 'vitest'
import { fixedWindow, memoryStore, RateLimiter, slidingLog, tokenBucket } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import fc from './fast-check.ts'

/** Mostly a repetition of the last call, with the same key or the next: the wire has a short form for that. */
const call = fc.record({
  step: fc.oneof({ weight: 8, arbitrary: fc.constantFrom(0, 1) }, fc.integer({ min: -3, max: 3 })),
  changes: fc.oneof({ weight: 8, arbitrary: fc.constant(false) }, fc.constant(true)),
  verb: fc.constantFrom('consume', 'consume', 'peek', 'charge', 'refund', 'reset', 'reserve'),
  cost: fc.constantFrom(1, 1, 2),
  limiter: fc.constantFrom(0, 0, 1, 2),
  /** A key that is banned before the call, or whose ban is lifted. */
  before: fc.option(fc.record({ verb: fc.constantFrom('ban', 'unban'), key: fc.nat(6) }), {
    nil: undefined,
    freq: 7,
  }),
  turn: fc.integer({ min: 0, max: 20 }).map((n) => n === 0),
})
type Call = typeof call extends fc.Arbitrary<infer T> ? T : never

let runs = 0

/** Random calls that travel together in batches are decided as the memory store decides them one by one. */
export async function checkBatchedCalls(client: Redis, numRuns: number): Promise<void> {
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
  await fc.assert(property, { numRuns })
}

async function play(limiters: readonly RateLimiter[], calls: readonly Call[]): Promise<unknown[]> {
  const results: Promise<unknown>[] = []
  let key = 0
  let last = calls[0] as Call
  for (const each of calls) {
    if (each.turn) await Promise.all(results)
    if (each.changes) last = each
    key = (key + each.step + 7) % 7
    const limiter = limiters[last.limiter] as RateLimiter
    if (each.before?.verb === 'ban') results.push(limiter.ban(userOf(limiter, each.before.key), '1h'))
    if (each.before?.verb === 'unban') results.push(limiter.unban(userOf(limiter, each.before.key)))
    const user = userOf(limiter, key)
    results.push(make(limiter, last, typeof user === 'string' ? user : { ...user, all: 'all' }))
  }
  return Promise.all(results)
}

/** The key without that of the scope which all calls share. */
function userOf({ scopes }: RateLimiter, key: number): string | Record<string, string> {
  return scopes.length === 1 ? `${key}` : { user: `${key}` }
}

async function make(
  limiter: RateLimiter,
  { verb, cost }: Call,
  key: string | Record<string, string>,
): Promise<unknown> {
  if (verb === 'reserve') return (await limiter.reserve(key, { cost })).decision
  if (verb === 'reset') return limiter.reset(key)
  return limiter[verb](key, { cost })
}
