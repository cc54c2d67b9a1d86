/* What only clients see of a policy is no part of its states: a deploy that changes it keeps what was counted. */
import { expect, test } from 'vitest'
import { concurrency, type Policy, RateLimiter, type Store, slidingWindow } from '../../src/index.ts'
import { packTerms } from '../../src/stores/cluster/messages.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { MapDatabase } from '../support/map-store.ts'
import { useRedis } from '../support/use-server.ts'

const { client } = await useRedis()
const database = new MapDatabase()

/** The policies of a build, and those of the next one. */
const before = [slidingWindow({ limit: 10, window: '1h' }), concurrency({ limit: 2, lease: '1h' })]
const after = [
  slidingWindow({ limit: 10, window: '1h', listed: false, label: 'internal' }),
  concurrency({ limit: 2, lease: '1h', retryAfter: '1s', listed: false, label: 'slots' }),
]

test.each<[string, () => Store]>([
  ['a store of one text for each key', () => database.store()],
  ['Redis', () => redisStore({ client, timeout: '5s' })],
  ['Redis, with cached refusals', () => redisStore({ client, timeout: '5s', prefix: 'cached', refusalCache: true })],
])('%s: what was counted stays, in either direction', async (_name, open) => {
  const limiterOf = (policies: Policy[]) => new RateLimiter({ name: 'api', policies, store: open() })
  const builds = [limiterOf(before), limiterOf(after)] as const
  const held = await builds[0].reserve('ann', { cost: 2 })
  expect(held.allowed).toBe(true)
  const first = await builds[1].peek('ann')
  expect([first.allowed, first.policies.map(({ used }) => used)]).toEqual([false, [2, 2]])
  expect(first.retryAfter).toBeGreaterThan(3_590_000) // exact, whatever clients are told
  await held.release()
  expect((await builds[1].consume('ann', { cost: { '1h': 3, 'at-once': 0 } })).allowed).toBe(true)
  expect((await builds[0].peek('ann')).policies.map(({ used }) => used)).toEqual([5, 0])
})

test('a worker says nothing of it to the primary, so both builds have one ledger', () => {
  const terms = { name: 'api', scopes: ['default'], onChange: 'keep' as const }
  expect(packTerms({ ...terms, policies: after })).toBe(packTerms({ ...terms, policies: before }))
})
