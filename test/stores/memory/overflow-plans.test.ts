import { isDeepStrictEqual } from 'node:util'
import { describe, expect, test } from 'vitest'
import { penalty } from '../../../src/algorithms/bans/penalty-policy.ts'
import { carryRules, type StateRule } from '../../../src/algorithms/carry.ts'
import {
  type Decision,
  fixedWindow,
  type Policy,
  policy,
  RateLimiter,
  segmentedWindow,
  tokenBucket,
} from '../../../src/index.ts'
import type { Booking, Ledger } from '../../../src/store.ts'
import type { LedgerTerms, Store } from '../../../src/stores/contract/store.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import { StateRows } from '../../../src/stores/memory/state-rows.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { rounds } from '../../support/depth.ts'
import { ReferenceStore } from '../../support/reference-store.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const seed = [1, 2] as const
const rules: readonly StateRule[] = [...carryRules, 'retune']

/** A ledger for each plan, all of the same keys. */
function ledgersOf(store: Store, plans: readonly Policy[][], onChange: StateRule = 'keep'): Ledger[] {
  const terms = (policies: Policy[]): LedgerTerms => ({ name: 'plans', policies, scopes: ['default'], onChange })
  const [first = [], ...others] = plans
  const ledger = store.open(terms(first))
  return [ledger, ...others.map((policies) => store.open(terms(policies), ledger))]
}

const verbs = ['consume', 'consume', 'consume', 'peek', 'charge', 'refund', 'reserve', 'reset'] as const
const punished = penalty({ after: 3, within: '2s', ban: ['1s', '3s'] }, 'default', false)
const named = { name: 'a' }

const planSets: Record<string, Policy[][]> = {
  tokenBucket: [
    [policy('4/1s burst 6 token-bucket', named)],
    [policy('9/1s token-bucket', named)],
    [policy('3/5s token-bucket', named)],
  ],
  'tokenBucket, by interval': [3, 7].map((limit) => [tokenBucket({ limit, window: '1s', refill: 'interval' })]),
  fixedWindow: [[policy('4/1s fixed-window')], [policy('9/1s fixed-window')], [policy('5/2s fixed-window')]],
  'fixedWindow, from the first request': [4, 9].map((limit) => [
    fixedWindow({ limit, window: '1s', align: 'first-request' }),
  ]),
  slidingWindow: [[policy('4/1s')], [policy('9/1s')], [policy('2/1s')]],
  segmentedWindow: [[policy('4/1s segmented-window')], [segmentedWindow({ limit: 9, window: '1s', segments: 4 })]],
  slidingLog: [[policy('4/1s sliding-log')], [policy('9/1s sliding-log')]],
  'one name, several algorithms': [
    [policy('4/1s', named)],
    [policy('9/2s token-bucket', named)],
    [policy('6/1s sliding-log', named)],
  ],
  'several names, a penalty': [
    [policy('4/1s'), policy('9/5s sliding-log'), punished],
    [policy('6/1s'), policy('20/1h token-bucket', { countRefused: true }), punished],
    [policy('8/1s', { shadow: true }), policy('7/5s'), punished],
  ],
}

describe.each(Object.entries(planSets))('%s', (_name, plans) => {
  test.each(rules)(
    'an evicted key is decided as if it had not been evicted, under any plan, by the rule %s',
    (rule) => {
      const clock = new ManualClock()
      const full = new MemoryStore({ clock: clock.now, maxKeys: 4 }, seed)
      const one = ledgersOf(full, plans, rule)
      const other = ledgersOf(new ReferenceStore(clock.now), plans, rule)
      const random = seededRandom(5)
      const open: { plan: number; keys: string[]; bookings: Booking[] }[] = []
      for (let call = 0; call < rounds(400, 1000); call++) {
        clock.set(clock.milliseconds + random(200))
        const [settled] = random(4) === 0 ? open.splice(random(open.length), 1) : []
        const { plan, keys } = settled ?? { plan: random(plans.length), keys: [`${random(18)}`] }
        const cost = 1 + random(3)
        const verb = settled === undefined ? (verbs[random(verbs.length)] as (typeof verbs)[number]) : 'settle'
        const bookings: Booking[] = []
        const answers = [one, other].map((ledgers, n) => {
          const ledger = ledgers[plan] as Ledger
          if (verb === 'reset') return ledger.run({ verb, keys })
          if (settled !== undefined) {
            const back = (plans[plan] as Policy[]).map(() => -1)
            return ledger.run({ verb: 'settle', keys, costs: back, tickets: settled.bookings[n]?.tickets })
          }
          if (verb !== 'reserve' && verb !== 'settle') return ledger.run({ verb, keys, costs: cost })
          const booking = ledger.run({ verb: 'reserve', keys, costs: cost, maxWait: 2_000_000 }) as Booking
          bookings.push(booking)
          return booking.decision
        })
        // A log that is condensed forgets which units were reserved, so under logs nothing is settled.
        if (bookings[0]?.tickets && !plans.flat().some(({ algorithm }) => algorithm.grows))
          open.push({ plan, keys, bookings })
        if (isDeepStrictEqual(answers[0], answers[1])) continue
        expect(answers[0], `call ${call}: plan ${plan} ${verb} ${keys} ${cost}`).toEqual(answers[1])
      }
      expect(full.stats()).toMatchObject({ keys: 4, merged: 0, forgotten: 0 })
      expect(full.stats().evictions).toBeGreaterThan(30)
    },
  )
})

describe('when a limiter gets its second plan', () => {
  test('remembered keys stay remembered', async () => {
    const clock = new ManualClock()
    const store = new MemoryStore({ clock: clock.now, maxKeys: 2 }, seed)
    const limiter = new RateLimiter({ policies: '5/10m', store })
    for (let n = 0; n < 8; n++) limiter.consumeSync(`${n}`, { cost: 1 + (n % 5) })
    const before = store.stats()
    const more = limiter.withPlan('9/10m')
    expect(store.stats()).toEqual(before)
    expect(before).toEqual({ keys: 2, evictions: 6, remembered: 6, merged: 0, forgotten: 0 })
    const remaining = await Promise.all(Array.from({ length: 8 }, (_, n) => more.peek(`${n}`)))
    expect(remaining.map((decision) => decision.remaining)).toEqual([8, 7, 6, 5, 4, 8, 7, 6])
  })

  test('merged keys have their full quota again', () => {
    const store = new MemoryStore({ maxKeys: 1 }, seed)
    const limiter = new RateLimiter({ policies: '5/10m', store })
    for (let n = 0; n < 500; n++) limiter.consumeSync(`${n}`, { cost: 5 })
    expect(store.stats().merged).toBeGreaterThan(0)
    expect(limiter.consumeSync('new').allowed, 'it is refused because of merged keys').toBe(false)
    const more = limiter.withPlan('7/10m')
    expect(more.consumeSync('new').allowed).toBe(true)
    expect(more.consumeSync('0', { cost: 3 }).allowed, 'it has a place of its own').toBe(false)
  })
})

describe('under plans, when more keys are evicted than there are places', () => {
  const plans = [[policy('5/10m', named)], [policy('7/1m', named)]]

  function setUp() {
    const clock = new ManualClock()
    const store = new MemoryStore({ clock: clock.now, maxKeys: 1 }, seed)
    const ledgers = ledgersOf(store, plans)
    const decide = (plan: number, key: string, units = 1) => {
      return (ledgers[plan] as Ledger).run({ verb: 'consume', keys: [key], costs: units }) as Decision
    }
    return { clock, store, ledgers, decide }
  }

  test('the key with most left is forgotten, and a key with nothing left stays refused under every plan', () => {
    const { store, decide } = setUp()
    for (let n = 0; n < 4; n++) decide(0, `used up ${n}`, 5)
    for (let n = 0; n < 500; n++) decide(n % 2, `flood ${n}`)
    const { evictions, remembered, forgotten } = store.stats()
    expect(forgotten).toBeGreaterThan(400)
    expect(remembered + forgotten).toBe(evictions)
    for (let n = 0; n < 4; n++) {
      expect(decide(0, `used up ${n}`).allowed).toBe(false)
      expect(decide(1, `used up ${n}`, 3).allowed, 'the other plan has 2 left').toBe(false)
    }
  })

  test('a forgotten key has its full quota', () => {
    const { store, decide } = setUp()
    for (let n = 0; n < 500; n++) decide(0, `${n}`, 5)
    expect(store.stats().forgotten).toBeGreaterThan(400)
    expect(decide(0, '400', 5).allowed).toBe(true)
  })

  test('no key is refused because of another', () => {
    const { decide } = setUp()
    for (let n = 0; n < 500; n++) decide(n % 2, `${n}`, 5)
    for (let n = 0; n < 100; n++) expect(decide(n % 2, `new ${n}`, 5).allowed).toBe(true)
  })

  test('a remembered key is reset for every plan', () => {
    const { ledgers, decide } = setUp()
    for (const key of ['a', 'b', 'c']) decide(0, key, 5)
    void ledgers[1]?.run({ verb: 'reset', keys: ['a'] })
    expect([decide(0, 'a', 5).allowed, decide(1, 'a', 3).allowed, decide(0, 'b').allowed]).toEqual([true, false, false])
  })
})

test('places are given until their bytes are used up', () => {
  const now = 1_767_225_600_000_000
  const places = new StateRows([], true)
  places.share(now)
  places.resize(3000)
  const states = Array.from({ length: 400 }, (_, n) => {
    const large = segmentedWindow({ name: `${n}`, limit: 9, window: '10m', segments: 20 })
    const s: number[] = new Array(large.algorithm.slots).fill(0)
    large.algorithm.take(s, 0, now, 1, 0)
    return { policy: large, s, i: 0 }
  })
  let rows = 0
  while (places.fits(states)) places.copy(states, rows++, now)
  expect(rows).toBeGreaterThan(500)
  expect(rows).toBeLessThan(3000)
  places.clear(0)
  expect(places.fits(states)).toBe(true)
})
