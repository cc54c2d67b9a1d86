/** Random calls with lists of costs, reservations and settlements, against a model that shares no code with the project. */
import { expect, test } from 'vitest'
import {
  type Decision,
  fixedWindow,
  type Policy,
  RateLimiter,
  type Reservation,
  type Store,
  slidingLog,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { day, rounds } from './depth.ts'
import { evenCalendarWindow } from './even-calendar.ts'
import { type Random, randomOf } from './seeded-random.ts'

/** What one key has used under one policy. Times are milliseconds. */
interface Book {
  used(now: number): number
  wait(now: number, cost: number): number
  /** Returns what identifies the units. */
  add(now: number, cost: number): number
  correct(now: number, token: number, by: number): void
  refuse(now: number, cost: number): void
}

/** Windows at the multiples of their length. What is settled after the end of its window changes nothing. */
class WindowBook implements Book {
  readonly #limit: number
  readonly #length: number
  #window = -1
  #used = 0

  constructor(limit: number, length: number) {
    this.#limit = limit
    this.#length = length
  }

  #turn(now: number): number {
    const window = Math.floor(now / this.#length)
    if (window !== this.#window) this.#used = 0
    this.#window = window
    return window
  }

  used(now: number): number {
    this.#turn(now)
    return this.#used
  }

  wait(now: number, cost: number): number {
    if (cost === 0 || this.used(now) + cost <= this.#limit) return 0
    return cost > this.#limit ? Infinity : (this.#turn(now) + 1) * this.#length - now
  }

  add(now: number, cost: number): number {
    const window = this.#turn(now)
    this.#used += cost
    return window
  }

  correct(now: number, token: number, by: number): void {
    if (token === this.#turn(now)) this.#used += by
  }

  refuse(now: number, cost: number): void {
    const used = this.used(now)
    this.#used = Math.max(used, Math.min(this.#limit, used + cost))
  }
}

/** Every unit counts for exactly the length of the window. */
class LogBook implements Book {
  readonly #limit: number
  readonly #length: number
  readonly #entries: { time: number; units: number }[] = []

  constructor(limit: number, length: number) {
    this.#limit = limit
    this.#length = length
  }

  used(now: number): number {
    const living = this.#entries.filter(({ time }) => time + this.#length > now)
    return living.reduce((sum, { units }) => sum + units, 0)
  }

  wait(now: number, cost: number): number {
    if (cost === 0) return 0
    if (cost > this.#limit) return Infinity
    const times = [now, ...this.#entries.map(({ time }) => time + this.#length).filter((time) => time > now)]
    return Math.min(...times.filter((time) => this.used(time) + cost <= this.#limit)) - now
  }

  add(now: number, cost: number): number {
    return this.#entries.push({ time: now, units: cost }) - 1
  }

  correct(_now: number, token: number, by: number): void {
    const entry = this.#entries[token]
    if (entry !== undefined) entry.units += by
  }

  refuse(): void {
    throw new Error('no log of this test counts refusals')
  }
}

/** Three refusals within 20 s ban for 5 s. */
class BanBook {
  #start = 0
  #count = 0
  #end = 0

  wait(now: number): number {
    return Math.max(0, this.#end - now)
  }

  refuse(now: number): void {
    if (now < this.#end) return
    if (this.#count === 0 || now - this.#start >= 20_000) {
      this.#start = now
      this.#count = 0
    }
    this.#count++
    if (this.#count < 3) return
    this.#end = now + 5000
    this.#count = 0
  }
}

interface Rule {
  readonly name: string
  readonly limit: number
  readonly length: number
  readonly scope: 'org' | 'pool'
  readonly kind: 'calendar' | 'fixed' | 'log'
  readonly countRefused: boolean
}

const rules = (countRefused: boolean): readonly Rule[] => [
  { name: 'own', limit: 5, length: 40_000, scope: 'org', kind: 'calendar', countRefused },
  { name: 'minute', limit: 9, length: 15_000, scope: 'org', kind: 'fixed', countRefused: false },
  { name: 'pool', limit: 8, length: 60_000, scope: 'pool', kind: 'calendar', countRefused: false },
  { name: 'spare', limit: 4, length: 25_000, scope: 'pool', kind: 'fixed', countRefused },
  { name: 'log', limit: 6, length: 30_000, scope: 'pool', kind: 'log', countRefused: false },
]

function policyOf({ name, limit, length: window, scope, kind, countRefused }: Rule): Policy {
  const options = { name, limit, window, scope, countRefused }
  return { calendar: evenCalendarWindow, fixed: fixedWindow, log: slidingLog }[kind](options)
}

type Cost = Readonly<Record<string, number>>
type Keys = Readonly<Record<'org' | 'pool', string>>

interface Expected {
  readonly allowed: boolean
  readonly retryAfter: number
  readonly policy: string
  readonly remaining: number
  readonly tried: readonly { policy: string; retryAfter: number }[]
  readonly used: readonly number[]
}

/** Who took what: the index of the cost, and what identifies the units of each rule. */
interface Paid {
  readonly taken: number
  readonly tokens: ReadonlyMap<string, number>
}

class Model {
  readonly #rules: readonly Rule[]
  readonly #bans: boolean
  readonly #books = new Map<string, Book>()
  readonly #banned = new Map<string, BanBook>()

  constructor(all: readonly Rule[], bans: boolean) {
    this.#rules = all
    this.#bans = bans
  }

  book({ name, limit, length, scope, kind }: Rule, keys: Keys): Book {
    const key = `${name} ${keys[scope]}`
    const book = this.#books.get(key) ?? new (kind === 'log' ? LogBook : WindowBook)(limit, length)
    this.#books.set(key, book)
    return book
  }

  #ban({ org }: Keys): BanBook {
    const book = this.#banned.get(org) ?? new BanBook()
    this.#banned.set(org, book)
    return book
  }

  /** The policy that makes a cost wait the longest. */
  #refusal(keys: Keys, cost: Cost, now: number): { policy: string; retryAfter: number } {
    const waits = this.#rules.map((rule) => {
      return { policy: rule.name, retryAfter: this.book(rule, keys).wait(now, cost[rule.name] as number) }
    })
    if (this.#bans) waits.push({ policy: 'penalty', retryAfter: this.#ban(keys).wait(now) })
    const longest = Math.max(...waits.map(({ retryAfter }) => retryAfter))
    return waits.find(({ retryAfter }) => retryAfter === longest) as { policy: string; retryAfter: number }
  }

  #left(keys: Keys, cost: Cost, now: number): { policy: string; remaining: number } {
    const left = this.#rules
      .filter(({ name }) => (cost[name] as number) > 0)
      .map((rule) => ({ policy: rule.name, remaining: Math.max(0, rule.limit - this.book(rule, keys).used(now)) }))
    if (this.#bans && this.#ban(keys).wait(now) > 0) left.push({ policy: 'penalty', remaining: 0 })
    const least = Math.min(...left.map(({ remaining }) => remaining))
    return left.find(({ remaining }) => remaining === least) as { policy: string; remaining: number }
  }

  call(verb: 'take' | 'peek', keys: Keys, costs: readonly Cost[], now: number): { expected: Expected; paid?: Paid } {
    const before = costs.map((cost) => this.#refusal(keys, cost, now))
    const taken = before.findIndex(({ retryAfter }) => retryAfter === 0)
    const paid = taken < 0 ? undefined : { taken, tokens: new Map<string, number>() }
    if (verb === 'take' && paid !== undefined) {
      for (const rule of this.#rules) {
        const cost = costs[taken]?.[rule.name] as number
        if (cost > 0) paid.tokens.set(rule.name, this.book(rule, keys).add(now, cost))
      }
    }
    if (verb === 'take' && paid === undefined) this.#countRefusal(keys, costs, now, before)
    const after = paid === undefined ? costs.map((cost) => this.#refusal(keys, cost, now)) : before.slice(0, taken)
    const shortest = after.reduce((best, each) => (each.retryAfter < best.retryAfter ? each : best), {
      policy: '',
      retryAfter: Infinity,
      ...(paid === undefined && after[0]),
    })
    const most = costs
      .map((cost) => this.#left(keys, cost, now))
      .reduce((best, each) => (each.remaining > best.remaining ? each : best))
    const expected = {
      allowed: paid !== undefined,
      retryAfter: paid === undefined ? shortest.retryAfter : 0,
      policy: paid === undefined ? shortest.policy : most.policy,
      remaining: most.remaining,
      tried: after,
      used: this.#rules.map((rule) => this.book(rule, keys).used(now)),
    }
    return paid === undefined ? { expected } : { expected, paid }
  }

  /** One refusal, whatever the number of costs: by the cost with the shortest wait, else by the first that asks the policy. */
  #countRefusal(keys: Keys, costs: readonly Cost[], now: number, waits: readonly { retryAfter: number }[]): void {
    const shortest = Math.min(...waits.map(({ retryAfter }) => retryAfter))
    const chosen = costs[waits.findIndex(({ retryAfter }) => retryAfter === shortest)] as Cost
    for (const rule of this.#rules) {
      const asked = [chosen, ...costs].map((cost) => cost[rule.name] as number).find((cost) => cost > 0)
      if (rule.countRefused && asked !== undefined) this.book(rule, keys).refuse(now, asked)
    }
    if (this.#bans) this.#ban(keys).refuse(now)
  }

  settle(keys: Keys, cost: Cost, { tokens }: Paid, actual: Cost, now: number): void {
    for (const rule of this.#rules) {
      const token = tokens.get(rule.name)
      const units = actual[rule.name]
      if (token === undefined || units === undefined) continue
      this.book(rule, keys).correct(now, token, units - (cost[rule.name] as number))
    }
  }
}

interface Open {
  readonly keys: Keys
  readonly cost: Cost
  readonly paid: Paid
  readonly reservation: Reservation
}

const names = rules(false).map(({ name }) => name)

/** Each cost asks one to three of the policies. Few costs are above a limit. */
function costsOf(random: Random): Cost[] {
  return Array.from({ length: 1 + random(4) }, () => {
    const asked = new Set(Array.from({ length: 1 + random(3) }, () => random(names.length)))
    return Object.fromEntries(names.map((name, n) => [name, asked.has(n) ? 1 + random(random(9) === 0 ? 9 : 3) : 0]))
  })
}

/** A log and a fixed window are settled to at most the estimate, because the model knows no debt of theirs. */
function actualOf(random: Random, cost: Cost): Cost {
  const most = (name: string) => (name === 'own' || name === 'pool' ? 5 : (cost[name] as number))
  return Object.fromEntries(names.filter(() => random(6) > 0).map((name) => [name, random(most(name) + 1)]))
}

function seen({ allowed, retryAfter, policy, remaining, tried, policies }: Decision): unknown {
  return {
    allowed,
    retryAfter,
    policy,
    remaining,
    tried,
    used: policies.slice(0, names.length).map(({ used }) => used),
  }
}

async function play(create: (clock: () => number) => Store, seed: number, calls: number): Promise<number[]> {
  const random = randomOf(seed)
  const [counts, bans] = [random(2) === 0, random(2) === 0]
  const all = rules(counts)
  const clock = new ManualClock()
  const penalty = { after: 3, within: '20s', ban: '5s', scope: 'org' } as const
  const options = { name: 'model', policies: all.map(policyOf), ...(bans && { penalty }) }
  const limiter = new RateLimiter({ ...options, store: create(clock.now) })
  const model = new Model(all, bans)
  const open: Open[] = []
  const paidBy = [0, 0, 0, 0, 0]
  let wait = 0
  for (let n = 0; n < calls; n++) {
    const keys: Keys = { org: `org ${random(3)}`, pool: `pool ${random(2)}` }
    const now = clock.milliseconds
    const costs = costsOf(random)
    const action = random(10)
    const about = `seed ${seed}, call ${n}`
    if (action < 4) {
      const { expected, paid } = model.call('take', keys, costs, now)
      const decision = await limiter.consume(keys, { cost: costs })
      expect(seen(decision), about).toEqual(expected)
      wait = decision.retryAfter
      paidBy[paid?.taken ?? 4]!++
    } else if (action < 7) {
      const { expected, paid } = model.call('take', keys, costs, now)
      const reservation = await limiter.reserve(keys, { cost: costs })
      expect(seen(reservation.decision), about).toEqual(expected)
      if (paid !== undefined) open.push({ keys, cost: costs[paid.taken] as Cost, paid, reservation })
      paidBy[paid?.taken ?? 4]!++
    } else if (action === 7) {
      expect(seen(await limiter.peek(keys, { cost: costs })), about).toEqual(
        model.call('peek', keys, costs, now).expected,
      )
    } else if (action === 8 && open.length > 0) {
      const [{ keys: of, cost, paid, reservation }] = open.splice(random(open.length), 1) as [Open]
      const actual = random(4) === 0 ? undefined : actualOf(random, cost)
      if (actual === undefined) await reservation.cancel()
      else await reservation.settle(actual)
      model.settle(of, cost, paid, actual ?? Object.fromEntries(names.map((name) => [name, 0])), now)
    } else if (wait > 0 && wait !== Infinity && random(2) === 0) {
      clock.advance(wait - 1 + random(2)) // to the end of the last wait, or 1 ms before
      wait = 0
    } else clock.advance(random(random(4) === 0 ? 30_000 : 2000))
  }
  return paidBy
}

/**
 * Registers the comparison of a store with the model.
 * @param runs how many random scripts of 250 calls
 */
export function testCostListModel(name: string, create: (clock: () => number) => Store, runs: number): void {
  const title = `${name} decides lists of costs as the model does, and settles to the budget that has paid`
  test(title, { timeout: rounds(60_000, 600_000) }, async () => {
    const sums = [0, 0, 0, 0, 0]
    for (let run = 0; run < runs; run++) {
      const paidBy = await play(create, day * 1000 + run, 250)
      for (const [n, calls] of paidBy.entries()) sums[n]! += calls
    }
    // Each cost of a list has paid, and calls were refused: the sample is no empty case.
    expect(Math.min(...sums)).toBeGreaterThan(0)
  })
}
