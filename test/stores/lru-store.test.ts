import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { penalty } from '../../src/algorithms/bans/penalty-policy.ts'
import type { Tickets } from '../../src/algorithms/evaluation/evaluation.ts'
import {
  fixedWindow,
  memoryStore,
  type Policy,
  policy,
  RateLimiter,
  type Store,
  segmentedWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import type { Ledger, LedgerTerms } from '../../src/store.ts'
import { lruStore } from '../../src/stores/lru-store.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { describeWholeStore } from '../support/whole-store.ts'

describeWholeStore({ name: 'lru', create: (clock) => lruStore({ clock, maxKeys: 1000 }), runs: 3, quick: true })

const verbs = ['consume', 'consume', 'consume', 'peek', 'charge', 'refund', 'reserve', 'reset', 'settle'] as const

const plans: Record<string, Policy[][]> = {
  'a token bucket': [[tokenBucket({ limit: 4, burst: 6, window: '1s' })]],
  'a token bucket by interval': [[tokenBucket({ limit: 3, window: '1s', burst: 7, refill: 'interval' })]],
  'a fixed window': [[policy('4/1s fixed-window')]],
  'a fixed window from the first request': [[fixedWindow({ limit: 4, window: '1s', align: 'first-request' })]],
  'a sliding window': [[policy('4/1s')]],
  'a segmented window': [[segmentedWindow({ limit: 4, window: '1s', segments: 5 })]],
  'a log': [[policy('6/1s sliding-log')]],
  'a smooth rate': [[smoothBursty({ rate: 5, maxBurst: '2s' })]],
  'three policies and a penalty': [
    [
      policy('4/1s'),
      policy('9/5s sliding-log', { scope: 'user' }),
      policy('20/1h token-bucket', { countRefused: true }),
      penalty({ after: 3, within: '2s', ban: ['1s', '3s'] }, 'default', false),
    ],
  ],
  'three plans': ['4/1s', '9/2s token-bucket', '6/1s sliding-log'].map((text) => [
    policy(text, { name: 'a' }),
    policy('30/1m', { scope: 'user' }),
  ]),
}

/** A ledger for each plan: all share their states. */
function ledgersOf(store: Store, all: readonly Policy[][]): Ledger[] {
  const scopes = [...new Set(all.flat().map(({ scope }) => scope))]
  const [first, ...others] = all.map((policies) => ({ name: 'ledger', policies, scopes }))
  const ledger = store.open(first as LedgerTerms)
  return [ledger, ...others.map((terms) => store.open(terms, ledger))]
}

/** Ids of reservations are random. */
function withoutIds(answer: unknown): unknown {
  const { tickets } = (answer ?? {}) as { tickets?: Tickets }
  return tickets === undefined
    ? answer
    : { ...(answer as object), tickets: tickets.map((ticket) => ticket?.toSpliced(1, 1)) }
}

describe('the memory store and the LRU store make the same decisions', () => {
  test.each(Object.entries(plans))('under %s', (_, all) => {
    const clock = new ManualClock()
    const stores = [memoryStore({ clock: clock.now }), lruStore({ clock: clock.now })].map((each) =>
      ledgersOf(each, all),
    )
    const reservations: { plan: number; keys: string[]; tickets: unknown[] }[] = []
    const random = seededRandom(11)
    const scopes = new Set(all.flat().map(({ scope }) => scope)).size
    for (let step = 0; step < 3000; step++) {
      clock.set(clock.milliseconds + random(200) - (random(20) === 0 ? random(3000) : 0))
      const verb = verbs[random(verbs.length)] as (typeof verbs)[number]
      const settled = verb === 'settle' ? reservations.splice(random(reservations.length), 1)[0] : undefined
      const plan = settled?.plan ?? random(all.length)
      const keys = Array.from({ length: scopes }, () => `${random(6)}`)
      const cost = 1 + random(3)
      const answers = stores.map((ledgers, n) => {
        const ledger = ledgers[plan] as Ledger
        if (verb === 'reset') return ledger.run({ verb, keys })
        if (verb === 'reserve') return ledger.run({ verb: 'reserve', keys, costs: cost, maxWait: 2_000_000 })
        if (verb !== 'settle') return ledger.run({ verb, keys, costs: cost })
        return (
          settled &&
          ledger.run({
            verb: 'settle',
            keys: settled.keys,
            costs: all[plan]?.map(() => -1) ?? [],
            tickets: settled.tickets[n] as never,
          })
        )
      })
      if (verb === 'reserve')
        reservations.push({ plan, keys, tickets: answers.map((each) => each && 'tickets' in each && each.tickets) })
      const [one, other] = answers.map(withoutIds)
      if (isDeepStrictEqual(one, other)) continue
      expect(other, `step ${step}: ${verb} ${keys} ${cost} under plan ${plan}`).toEqual(one)
    }
  })
})

describe('a full LRU store', () => {
  function setUp(maxKeys: number, policies: string | Policy[] = '1/1h') {
    const limiter = new RateLimiter({ policies, store: lruStore({ maxKeys }) })
    return { limiter, allowed: (key: string) => limiter.consumeSync(key).allowed }
  }

  test('forgets the key that was used least recently', () => {
    const { allowed } = setUp(2)
    expect([allowed('a'), allowed('b')]).toEqual([true, true])
    expect(allowed('a'), 'a refused call is a use').toBe(false)
    expect(allowed('c')).toBe(true)
    expect([allowed('a'), allowed('b')]).toEqual([false, true])
  })

  test('stores no key for calls that are refused or only peek', async () => {
    const { limiter, allowed } = setUp(1)
    allowed('a')
    for (let n = 0; n < 100; n++) {
      limiter.consumeSync(`${n}`, { cost: 2 })
      await limiter.peek(`${n}`)
    }
    expect(allowed('a')).toBe(false)
  })

  test('keeps maxKeys keys of each scope and of each limiter', () => {
    const store = lruStore({ maxKeys: 1 })
    const policies = [policy('1/1h'), policy('9/1h', { name: 'user', scope: 'user' })]
    const one = new RateLimiter({ name: 'one', policies, store })
    const other = new RateLimiter({ name: 'other', policies: '1/1h', store })
    one.consumeSync({ default: 'a', user: 'u' })
    other.consumeSync('b')
    expect(one.consumeSync({ default: 'a', user: 'v' }).allowed).toBe(false)
    expect(other.consumeSync('b').allowed).toBe(false)
  })

  test('keeps maxKeys keys for all plans together', () => {
    const { limiter, allowed } = setUp(2)
    const large = limiter.withPlan('5/1h')
    allowed('a')
    large.consumeSync('b', { cost: 5 })
    expect(large.consumeSync('a').remaining).toBe(3)
    allowed('c')
    expect(large.consumeSync('b').remaining, 'it was forgotten').toBe(4)
  })
})

test('the time is read once for each decision', () => {
  let readings = 0
  const limiter = new RateLimiter({ policies: ['1/1s', '2/1m'], store: lruStore({ clock: () => ++readings }) })
  const before = readings
  limiter.consumeSync('a')
  expect(readings - before).toBe(1)
})

test.each([{ maxKeys: 0 }, { maxKeys: 1.5 }, { maxKeys: '10' }, { maxKeys: 2 ** 24 }, { max: 5 }])(
  '%o is a wrong option',
  (options) => {
    expect(() => lruStore(options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  },
)

test('a clock of milliseconds is refused', () => {
  expect(() => lruStore({ clock: Date.now })).toThrow(expect.objectContaining({ code: 'HEADGATE_CLOCK' }))
})
