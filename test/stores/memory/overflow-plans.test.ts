import { describe, expect, test } from 'vitest'
import { carryRules, type StateRule } from '../../../src/algorithms/carry.ts'
import { penalty } from '../../../src/algorithms/penalty.ts'
import {
  type Decision,
  fixedWindow,
  type Ledger,
  type Policy,
  policy,
  RateLimiter,
  segmentedWindow,
  tokenBucket,
} from '../../../src/index.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import type { LedgerTerms, Store } from '../../../src/stores/store.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { dice } from '../../support/dice.ts'
import { ReferenceStore } from '../../support/reference-store.ts'

const seed = [1, 2] as const
const rules: readonly StateRule[] = [...carryRules, 'retune']

/** A ledger for each plan, all of the same keys. */
function ledgersOf(store: Store, plans: readonly Policy[][], onChange: StateRule = 'keep'): Ledger[] {
  const terms = (policies: Policy[]): LedgerTerms => ({ name: 'plans', policies, scopes: ['default'], onChange })
  const [first = [], ...others] = plans
  const ledger = store.open(terms(first))
  return [ledger, ...others.map((policies) => ledger.vary?.(terms(policies)) as Ledger)]
}

const punished = penalty({ after: 3, within: '2s', block: ['1s', '3s'] }, 'default', false)
const named = { name: 'a' }

const families: Record<string, Policy[][]> = {
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

describe.each(Object.entries(families))('%s', (_name, plans) => {
  test.each(rules)('a key goes on as if it had never left, under whichever plan it comes back: %s', (rule) => {
    const clock = new ManualClock()
    const full = new MemoryStore({ clock: clock.now, maxKeys: 4 }, seed)
    const one = ledgersOf(full, plans, rule)
    const other = ledgersOf(new ReferenceStore(clock.now), plans, rule)
    const roll = dice(5)
    for (let call = 0; call < 3000; call++) {
      clock.set(clock.milliseconds + roll(200))
      const plan = roll(plans.length)
      const keys = [`${roll(18)}`]
      const cost = 1 + roll(3)
      const verb = (['consume', 'consume', 'consume', 'peek', 'charge', 'refund', 'reserve', 'reset'] as const)[roll(8)]
      const settles = roll(2) === 0
      const answers = [one, other].map((ledgers) => {
        const ledger = ledgers[plan] as Ledger
        if (verb === 'reset') return void ledger.reset(keys)
        if (verb !== 'reserve') return ledger.decide(verb ?? 'peek', keys, cost)
        const booking = ledger.reserve(keys, cost, 2_000_000)
        if ('then' in booking || !booking.tickets || !settles) return 'decision' in booking && booking.decision
        return ledger.decide('refund', keys, 1, { tickets: booking.tickets })
      })
      expect(answers[0]).toEqual(answers[1])
    }
    expect(full.stats()).toMatchObject({ keys: 4, merged: 0 })
    expect(full.stats().evictions).toBeGreaterThan(100)
  })
})

describe('from the same policies to others', () => {
  test('what was remembered goes along', async () => {
    const clock = new ManualClock()
    const store = new MemoryStore({ clock: clock.now, maxKeys: 2 }, seed)
    const limiter = new RateLimiter({ policies: '5/10m', store })
    for (let n = 0; n < 8; n++) limiter.consumeSync(`${n}`, { cost: 1 + (n % 5) })
    const before = store.stats()
    const more = limiter.under('9/10m')
    expect(store.stats()).toEqual(before)
    expect(before).toEqual({ keys: 2, evictions: 6, remembered: 6, merged: 0 })
    const remaining = await Promise.all(Array.from({ length: 8 }, (_, n) => more.peek(`${n}`)))
    expect(remaining.map((decision) => decision.remaining)).toEqual([8, 7, 6, 5, 4, 8, 7, 6])
  })

  test('what was merged goes along', async () => {
    const store = new MemoryStore({ maxKeys: 1 }, seed)
    const limiter = new RateLimiter({ policies: '5/10m', store })
    for (let n = 0; n < 500; n++) limiter.consumeSync(`${n}`, { cost: 1 + (n % 5) })
    const { merged } = store.stats()
    expect(merged).toBeGreaterThan(0)
    const more = limiter.under('7/10m')
    expect(store.stats().merged).toBe(merged)
    const letIn = Array.from({ length: 500 }, (_, n) => more.consumeSync(`${n}`, { cost: 7 - (n % 5) }).allowed)
    expect(letIn).not.toContain(true)
  })
})

describe('keys that were merged', () => {
  function crowded(plans: readonly Policy[][], cost: number, inUse = plans.length) {
    const clock = new ManualClock()
    const store = new MemoryStore({ clock: clock.now, maxKeys: 1 }, seed)
    const ledgers = ledgersOf(store, plans)
    const decide = (plan: number, key: string, units = 1) => {
      return (ledgers[plan] as Ledger).decide('consume', [key], units) as Decision
    }
    for (let n = 0; n < 500; n++) decide(n % inUse, `${n}`, cost)
    expect(store.stats().merged).toBeGreaterThan(0)
    return { clock, store, ledgers, decide }
  }

  test('are refused for one another under every plan, until what was merged is like new', () => {
    const { clock, decide } = crowded([[policy('5/10m', named)], [policy('7/1m', named)]], 5, 1)
    expect([decide(0, 'new').allowed, decide(1, 'new').remaining]).toEqual([false, 1])
    clock.advance('2m')
    expect(decide(1, 'another').remaining, 'the 5 units of the other plan still count').toBe(1)
    clock.advance('20m')
    expect(decide(0, 'a third').remaining).toBe(4)
  })

  test('are reset each by itself: for as long as there is room', () => {
    const { ledgers, decide } = crowded([[policy('5/10m')], [policy('7/10m')]], 5)
    expect(decide(0, '400').allowed).toBe(false)
    ledgers[1]?.reset(['400'])
    expect([decide(0, '400', 5).allowed, decide(1, '400', 3).allowed]).toEqual([true, false])
  })

  test('a window that opens with its first call opens anew with the call of that name, not with one of another', () => {
    const first = (name: string) => fixedWindow({ name, limit: 3, window: '10s', align: 'first-request' })
    const { clock, decide } = crowded([[first('a')], [first('b')]], 2)
    clock.advance('9s')
    expect(decide(0, 'new').allowed).toBe(true)
    clock.advance(500)
    expect(decide(1, 'new').allowed).toBe(true)
    clock.advance('1s')
    expect(decide(1, 'new').allowed, 'in the window that it opened a second ago one call is left, of another key').toBe(
      false,
    )
    clock.advance('9s')
    expect(decide(1, 'new').remaining).toBe(2)
  })
})
