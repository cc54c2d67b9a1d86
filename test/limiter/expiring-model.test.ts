/** Random calls with reservations that expire, against a model that shares no code with the project. */
import { expect, test } from 'vitest'
import { fixedWindow, lruStore, memoryStore, RateLimiter, type Reservation, type Store } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { day, rounds } from '../support/depth.ts'
import { evenCalendarWindow } from '../support/even-calendar.ts'
import { MapDatabase } from '../support/map-store.ts'
import { type Random, randomOf } from '../support/seeded-random.ts'
import { sqliteDatabase } from '../support/sqlite.ts'

interface Taken {
  readonly window: number
  /** How often the key had been reset. */
  readonly resets: number
  /** How many units had been refunded. */
  readonly refunds: number
  readonly units: number
  readonly expiry: number
}

/** What one key has used under one policy, in windows at the multiples of their length. Times are milliseconds. */
class Book {
  readonly limit: number
  readonly #length: number
  readonly #gives: boolean
  #window = -1
  #used = 0
  #refunds = 0
  #resets = 0
  #open: Taken[] = []

  constructor({ limit, length, gives }: Rule) {
    this.limit = limit
    this.#length = length
    this.#gives = gives
  }

  used(now: number): number {
    const window = Math.floor(now / this.#length)
    if (window !== this.#window) {
      this.#window = window
      this.#used = 0
      this.#open = []
    }
    for (const taken of this.#open.filter(({ expiry }) => expiry <= now)) this.#used -= this.#left(taken)
    this.#open = this.#open.filter(({ expiry }) => expiry > now)
    return this.#used
  }

  /** How many units a reservation can still give back. */
  #left({ window, resets, refunds, units }: Taken): number {
    return window === this.#window && resets === this.#resets ? Math.max(0, units - (this.#refunds - refunds)) : 0
  }

  wait(now: number, cost: number): number {
    let used = this.used(now)
    if (cost === 0 || used + cost <= this.limit) return 0
    if (cost > this.limit) return Infinity
    for (const taken of this.#open.toSorted((a, b) => a.expiry - b.expiry)) {
      used -= this.#left(taken)
      if (used + cost <= this.limit) return Math.min(taken.expiry, (this.#window + 1) * this.#length) - now
    }
    return (this.#window + 1) * this.#length - now
  }

  /** @param life Infinity for units that do not come back */
  take(now: number, units: number, life: number): Taken {
    this.used(now)
    this.#used += units
    const expiry = this.#gives ? now + life : Infinity
    const taken = { window: this.#window, resets: this.#resets, refunds: this.#refunds, units, expiry }
    if (expiry < Infinity) this.#open.push(taken)
    return taken
  }

  refund(now: number, units: number): void {
    if (this.used(now) === 0) return
    this.#used = Math.max(0, this.#used - units)
    this.#refunds += units
  }

  settle(now: number, taken: Taken, actual: number): void {
    this.used(now)
    if (taken.window !== this.#window) return
    const spare = taken.units - actual
    if (taken.expiry <= now) this.#used += actual
    else this.#used -= spare < 0 ? spare : Math.min(spare, this.#left(taken))
    this.#open = this.#open.filter((each) => each !== taken)
  }

  reset(): void {
    this.#used = 0
    this.#resets++
    this.#open = []
  }
}

interface Rule {
  readonly name: string
  readonly limit: number
  readonly length: number
  readonly scope: 'org' | 'pool'
  /** True if units come back at the expiry. */
  readonly gives: boolean
}

const rules: readonly Rule[] = [
  { name: 'own', limit: 12, length: 40_000, scope: 'org', gives: true },
  { name: 'plain', limit: 15, length: 25_000, scope: 'org', gives: false },
  { name: 'pool', limit: 20, length: 60_000, scope: 'pool', gives: true },
]

const policies = rules.map(({ name, limit, length: window, scope, gives }) => {
  const options = { name, limit, window, scope }
  return name === 'pool'
    ? fixedWindow({ ...options, giveBack: true })
    : gives
      ? evenCalendarWindow(options)
      : fixedWindow(options)
})

type Cost = Readonly<Record<string, number>>
type Keys = Readonly<Record<'org' | 'pool', string>>

interface Open {
  readonly keys: Keys
  readonly taken: ReadonlyMap<Rule, Taken>
  readonly reservation: Reservation
}

class Model {
  readonly #books = new Map<string, Book>()

  book(rule: Rule, keys: Keys): Book {
    const key = `${rule.name} ${keys[rule.scope]}`
    const book = this.#books.get(key) ?? new Book(rule)
    this.#books.set(key, book)
    return book
  }

  wait(keys: Keys, cost: Cost, now: number): number {
    return Math.max(...rules.map((rule) => this.book(rule, keys).wait(now, cost[rule.name] as number)))
  }

  /** Takes the first cost that every policy admits. Undefined if there is none. */
  take(keys: Keys, costs: readonly Cost[], now: number, life: number): Map<Rule, Taken> | undefined {
    const cost = costs.find((each) => this.wait(keys, each, now) === 0)
    if (cost === undefined) return undefined
    const asked = rules.filter(({ name }) => (cost[name] as number) > 0)
    return new Map(asked.map((rule) => [rule, this.book(rule, keys).take(now, cost[rule.name] as number, life)]))
  }
}

function costOf(random: Random, most = 5): Cost {
  return Object.fromEntries(rules.map(({ name }) => [name, random(3) === 0 ? 0 : random(most) + 1]))
}

const lives = [1, 500, 5000, 12_000, 30_000, 70_000]

/** Plays random calls. Returns how many reservations expired, were settled in time, and were settled late. */
async function play(create: (clock: () => number) => Store, seed: number, calls: number): Promise<number[]> {
  const random = randomOf(seed)
  const clock = new ManualClock()
  const store = create(clock.now)
  const limiter = new RateLimiter({ name: 'model', policies, store, onStoreError: 'throw' })
  const model = new Model()
  const open: Open[] = []
  const counts = [0, 0, 0]
  let wait = 0
  for (let n = 0; n < calls; n++) {
    const keys: Keys = { org: `org ${random(3)}`, pool: `pool ${random(2)}` }
    const now = clock.milliseconds
    const cost = costOf(random)
    const action = random(12)
    const about = `seed ${seed}, call ${n}, action ${action}`
    if (action < 2) {
      const expected = model.wait(keys, cost, now)
      model.take(keys, [cost], now, Infinity)
      const { allowed, retryAfter } = await limiter.consume(keys, { cost })
      expect({ allowed, retryAfter }, about).toEqual({ allowed: expected === 0, retryAfter: expected })
      if (retryAfter !== Infinity) wait = retryAfter
    } else if (action < 6) {
      const costs = random(3) === 0 ? [cost, costOf(random)] : [cost]
      const expires = random(4) === 0 ? Infinity : (lives[random(lives.length)] as number)
      const taken = model.take(keys, costs, now, expires)
      const reservation = await limiter.reserve(keys, {
        cost: costs.length === 1 ? cost : costs,
        ...(expires < Infinity && { expires, onExpiry: 'give-back' as const }),
      })
      expect(reservation.allowed, about).toBe(taken !== undefined)
      if (taken !== undefined) open.push({ keys, taken, reservation })
      if (expires < Infinity) counts[0]!++
    } else if (action < 9 && open.length > 0) {
      const [{ keys: of, taken, reservation }] = open.splice(random(open.length), 1) as [Open]
      const actual = Object.fromEntries(
        [...taken].map(([rule, { units }]) => [rule.name, random((rule.gives ? 8 : units) + 1)]),
      )
      const named = random(5) === 0 ? {} : actual
      for (const [rule, each] of taken) {
        // A policy that the settlement does not name keeps the estimate, which is taken again after the expiry.
        model.book(rule, of).settle(now, each, named[rule.name] ?? each.units)
        counts[each.expiry <= now ? 2 : 1]!++
      }
      await reservation.settle(named)
    } else if (action === 9) {
      const units: Record<string, number> = { ...cost, plain: 0 }
      const refunds = random(2) === 0
      for (const rule of rules.filter(({ name }) => (units[name] as number) > 0)) {
        if (refunds) model.book(rule, keys).refund(now, units[rule.name] as number)
        else model.book(rule, keys).take(now, units[rule.name] as number, Infinity)
      }
      await limiter[refunds ? 'refund' : 'charge'](keys, { cost: units })
    } else if (action === 10 && random(8) === 0) {
      for (const rule of rules) model.book(rule, keys).reset()
      await limiter.reset(keys)
    } else if (wait > 0 && random(2) === 0) {
      clock.advance(wait - 1 + random(2)) // to the end of the last wait, or 1 ms before
      wait = 0
    } else clock.advance(random(random(4) === 0 ? 30_000 : 2000))
    const { policies: seen } = await limiter.usage(keys)
    const used = rules.map((rule) => model.book(rule, keys).used(clock.milliseconds))
    expect(
      seen.map((each) => each.used),
      about,
    ).toEqual(used)
    expect(
      seen.map((each) => each.remaining),
      about,
    ).toEqual(rules.map(({ limit }, index) => Math.max(0, limit - (used[index] as number))))
  }
  return counts
}

const sqlite = sqliteDatabase()
let tables = 0

// In depth, 100,000 calls.
test.each<[string, (clock: () => number) => Store, number]>([
  ['memoryStore', (clock) => memoryStore({ clock }), rounds(20, 200)],
  ['lruStore', (clock) => lruStore({ clock }), rounds(10, 100)],
  ['compareAndSetStore', (clock) => new MapDatabase().store({ clock }), rounds(5, 50)],
  ['sqliteStore', (clock) => sqlite.create(clock, `x${++tables}`) as Store, rounds(5, 50)],
])(
  '%s: used is what was settled and what has not expired, whatever the calls',
  async (_, create, runs) => {
    const sums = [0, 0, 0]
    for (let run = 0; run < runs; run++) {
      for (const [n, calls] of (await play(create, day * 1000 + run, 250)).entries()) sums[n]! += calls
    }
    expect(Math.min(...sums)).toBeGreaterThan(0) // reservations that expire were made, settled in time, and settled late
  },
  300_000,
)
