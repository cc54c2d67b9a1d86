import type { PenaltyOptions } from '../algorithms/bans/index.ts'
import type { Policy } from '../algorithms/index.ts'
import type { Clock } from '../common/index.ts'
import { RateLimiter } from '../limiter/index.ts'
import type { Store } from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { assertEqual, assertTrue } from './assert.ts'
import { banCases, canBan } from './ban-cases.ts'
import { compareLimiters } from './compare-limiters.ts'
import { ManualClock } from './manual-clock.ts'
import { reservationCases } from './reservation-cases.ts'
import { samples } from './sample-policies.ts'
import { spentPenaltyCases } from './spent-penalty-cases.ts'
import { storeCases } from './store-cases.ts'
import type { StoreFixture } from './timeline.ts'

/** What `testStore` needs to test a store. */
export interface StoreContract {
  /** The store's name in the titles of the tests. */
  name: string
  /** Creates an empty store that reads this clock. Called once for each test. */
  create: (clock: Clock) => Store | Promise<Store>
  /** The function `test` of a test runner, such as vitest, node:test or jest. */
  test: (name: string, run: () => Promise<void>) => unknown
  /** Called with the store after each test, whether the test passed or failed. Default: nothing is called. */
  close?: (store: Store) => unknown
}

/**
 * Declares the tests that every store must pass. With every algorithm, each call returns what the memory store returns. A call under
 * several policies and scopes takes units from all of them, or from none. Reservations are settled (corrected to the actual cost) exactly,
 * in any order. If the store has bans, a ban ends exactly at its time. Keys and limiters never share a state. Concurrent calls are decided
 * one after the other. No test sleeps: the time is a `ManualClock`, which also goes back.
 *
 *     import { test } from 'node:test'
 *     import { testStore } from 'headgate/testing'
 *
 *     testStore({ name: 'my store', test, create: (clock) => myStore({ clock }), close: (store) => store.quit() })
 */
export function testStore({ name, create, test, close }: StoreContract): void {
  const declare = (what: string, run: (fixture: StoreFixture) => Promise<void>): void => {
    test(`${name}: ${what}`, async () => {
      const clock = new ManualClock(start)
      const store = await create(clock.now)
      try {
        await run({ store, clock, at: (milliseconds) => clock.set(start + milliseconds) })
      } finally {
        await close?.(store)
      }
    })
  }
  for (const [algorithm, make] of Object.entries(samples)) {
    declare(`${algorithm}: a refused call is admitted at retryAfter and no sooner`, (fixture) =>
      checkRetryAfter(fixture, make({ limit: 5, window: '10s' })),
    )
    for (const options of [{}, { countRefused: true }, { shadow: true }]) {
      const policy = make({ limit: 7, window: '1s', ...options })
      const kind = Object.keys(options)[0] ?? 'every verb'
      declare(`${algorithm}, ${kind}: the same decisions as the memory store`, (fixture) =>
        checkDecisions(fixture, [policy]),
      )
    }
  }
  const all = Object.entries(samples).map(([name, make], n) =>
    make({ name, limit: 5 + n, window: `${1000 + 100 * n}ms` }),
  )
  declare('all algorithms in one limiter: the same decisions as the memory store', (fixture) =>
    checkDecisions(fixture, all),
  )
  for (const [what, rules] of Object.entries(penalties)) {
    // The end of a ban that lasts until the window ends depends only on the wait that the policy reports. So three algorithms
    // are enough.
    const policies = rules.until === undefined ? all : all.slice(0, 3)
    const penalty = rules.on === 'spent' ? rules : { after: 3, within: '2s', ...rules }
    declare(`bans by hand and by a penalty${what}: the same decisions as the memory store`, (fixture) =>
      checkDecisions(fixture, policies, penalty),
    )
  }
  for (const [what, run] of Object.entries({ ...storeCases, ...reservationCases })) declare(what, run)
  for (const [what, run] of Object.entries({ ...banCases, ...spentPenaltyCases })) {
    declare(what, async (fixture) => ((await canBan(fixture.store)) ? run(fixture) : undefined))
  }
}

const start = Date.UTC(2026, 0, 1)

/** Uses up the quota of a key. Checks that a call is refused 1 ms before `retryAfter` has passed, and then admitted. */
async function checkRetryAfter({ store, clock }: StoreFixture, policy: Policy): Promise<void> {
  const limiter = new RateLimiter({ name: 'contract', policies: policy, store })
  assertEqual((await limiter.consume('k', { cost: policy.burst })).allowed, true)
  const { allowed, remaining, retryAfter } = await limiter.consume('k')
  assertEqual([allowed, remaining], [false, 0])
  assertTrue(retryAfter > 0 && retryAfter <= 20_000, `a wait within two windows, got ${retryAfter}`)
  clock.advance(retryAfter - 1)
  assertEqual((await limiter.consume('k')).allowed, false, '1 ms too soon')
  clock.advance(1)
  assertEqual((await limiter.consume('k')).allowed, true, 'in time')
  const { resetAfter } = await limiter.peek('k')
  clock.advance(resetAfter)
  assertEqual((await limiter.peek('k')).remaining, policy.burst, 'a key with its full quota again')
}

const penalties: Readonly<Record<string, Partial<PenaltyOptions>>> = {
  '': { ban: ['1s', '4s'] },
  ' that extends': { ban: ['1s', '4s'], extend: true },
  ' that restarts': { ban: ['1s', '4s'], restart: true },
  ' that ends with the window': { until: 'window' },
  ' for a spent quota': { on: 'spent', ban: ['1s', '4s'] },
}

/**
 * Makes the same calls on the store and on a memory store, and compares the results. The clock sometimes goes back.
 * @param penalty if given, keys are banned too, on stores that support bans
 */
async function checkDecisions(
  { store, clock }: StoreFixture,
  given: readonly Policy[],
  penalty?: PenaltyOptions,
): Promise<void> {
  const policies = given.map((policy, n) => ({ ...policy, scope: n % 2 === 0 ? 'user' : 'address' }))
  const options = { policies, ...(penalty && { penalty }) }
  const limiter = new RateLimiter({ name: 'contract', ...options, store })
  if (penalty !== undefined && !(await canBan(store))) return
  const reference = new RateLimiter({ ...options, store: memoryStore({ clock: clock.now }) })
  await compareLimiters(clock, limiter, reference, penalty !== undefined)
}
