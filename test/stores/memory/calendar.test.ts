/* Windows of a calendar in stores that are full. */
import { expect, test } from 'vitest'
import { calendarWindow } from '../../../src/calendar/index.ts'
import { lruStore, memoryStore, RateLimiter } from '../../../src/index.ts'
import { MemoryStore } from '../../../src/stores/memory/memory-store.ts'
import { ManualClock } from '../../../src/testing/index.ts'
import { rounds } from '../../support/depth.ts'
import { seededRandom } from '../../support/seeded-random.ts'

const day = 86_400_000
const start = Date.UTC(2026, 0, 10)
const monthly = calendarWindow({ limit: 5, every: 'month', anchor: 'caller' })

test('a full memory store merges customers with other anchors: it admits no more, and retryAfter admits', () => {
  let stricter = 0
  for (let seed = 1; seed <= rounds(2, 20); seed++) {
    const random = seededRandom(seed)
    const clock = new ManualClock(start)
    const stores = [new MemoryStore({ clock: clock.now, maxKeys: 4 }, [7, 9]), memoryStore({ clock: clock.now })]
    const [full, all] = stores.map((store) => new RateLimiter({ policies: monthly, store })) as [
      RateLimiter,
      RateLimiter,
    ]
    for (let call = 0; call < 3000; call++) {
      clock.advance(random(100) === 0 ? random(6 * day) : random(7200))
      const customer = random(800)
      const options = { cost: 1 + random(3), calendar: { anchor: 1 + (customer % 31) } }
      const consume = () => [full, all].map((limiter) => limiter.consumeSync(`${customer}`, options))
      const [one, other] = consume()
      if (one?.allowed) expect(other?.allowed).toBe(true)
      else if (other?.allowed) {
        stricter++
        void all.refund(`${customer}`, options)
      } else expect(one?.retryAfter).toBeGreaterThanOrEqual(other?.retryAfter ?? 0)
      if (one?.allowed || random(10) > 0) continue
      clock.advance(one?.retryAfter ?? 0)
      expect(consume().map(({ allowed }) => allowed)).toEqual([true, true])
    }
  }
  expect(stricter).toBeGreaterThan(100)
})

test('evicted customers with one anchor are decided as if they had not been evicted', () => {
  const clock = new ManualClock(start)
  const store = new MemoryStore({ clock: clock.now, maxKeys: 4 }, [7, 9])
  const limiter = new RateLimiter({ policies: calendarWindow({ limit: 5, every: 'month' }), store })
  const customers = Array.from({ length: 30 }, (_, n) => `${n}`)
  for (const customer of customers) limiter.consumeSync(customer, { cost: 5 })
  for (const customer of customers) {
    expect(limiter.consumeSync(customer)).toMatchObject({ allowed: false, retryAfter: 22 * day })
  }
  clock.advance(22 * day)
  for (const customer of customers) expect(limiter.consumeSync(customer, { cost: 5 }).allowed).toBe(true)
})

test('lruStore forgets the least recently used customer, and keeps the windows of the others', () => {
  const clock = new ManualClock(start)
  const limiter = new RateLimiter({ policies: monthly, store: lruStore({ clock: clock.now, maxKeys: 3 }) })
  const call = (customer: number) => ({ cost: 5, calendar: { anchor: 20 + customer } })
  for (const customer of [0, 1, 2, 3]) limiter.consumeSync(`${customer}`, call(customer))
  for (const customer of [3, 2, 1]) {
    expect(limiter.consumeSync(`${customer}`, call(customer)).retryAfter).toBe((10 + customer) * day)
  }
  expect(limiter.consumeSync('0', call(0)).allowed).toBe(true)
})
