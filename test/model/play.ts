/* Plays random timelines on a limiter and on the model, and compares every answer. */
import {
  concurrency,
  fixedWindow,
  type Policy,
  RateLimiter,
  type Reservation,
  type Store,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
  type Verdict,
} from '../../src/index.ts'
import { type Random, seededRandom } from '../support/seeded-random.ts'
import { bucket, type Entry, intervals, log, type Rules, segments, slidingCounter } from './model.ts'

/** One policy under several plans, and its rules under each. */
export interface Kind {
  readonly name: string
  /** Milliseconds. */
  readonly window: number
  readonly plans: readonly { readonly policy: Policy; readonly rules: Rules }[]
  /** The rules of each plan for keys that never owe. */
  readonly withoutDebt: readonly Rules[]
  /** True for units in flight. */
  readonly leases: boolean
}

const long = 3_599_999
const short = 9_973

/** @param numbers what differs from plan to plan: the limit, or the burst */
function kind(
  name: string,
  window: number,
  numbers: readonly number[],
  policy: (n: number) => Policy,
  rules: (n: number) => Rules,
  noDebt?: (n: number) => Rules,
): Kind {
  const plans = numbers.map((n) => ({ policy: { ...policy(n), name: 'p', label: 'p' }, rules: rules(n) }))
  const withoutDebt = numbers.map((n) => noDebt?.(n) ?? rules(n))
  return { name, window, plans, withoutDebt, leases: plans[0]?.policy.algorithm.leases === true }
}

const bursts = [7, 3, 21]
const limits = [7, 3, 11]
const w = short * 1000

export const kinds: readonly Kind[] = [
  kind(
    'bucket',
    short,
    bursts,
    (burst) => tokenBucket({ limit: 7, window: short, burst }),
    (n) => bucket(7, w, n),
  ),
  kind(
    'slow bucket',
    long,
    [7, 3, 5],
    (burst) => tokenBucket({ limit: 7, window: long, burst }),
    (n) => bucket(7, long * 1000, n),
  ),
  kind(
    'small bucket',
    short,
    [2, 1, 3],
    (burst) => tokenBucket({ limit: 60, window: short, burst }),
    (n) => bucket(60, w, n),
  ),
  kind(
    'clock window',
    short,
    limits,
    (limit) => fixedWindow({ limit, window: short }),
    (n) => intervals(n, w, n, true),
    (n) => intervals(n, w, n, true, true),
  ),
  kind(
    'own window',
    short,
    limits,
    (limit) => fixedWindow({ limit, window: short, align: 'first-request' }),
    (n) => intervals(n, w, n, false),
    (n) => intervals(n, w, n, false, true),
  ),
  kind(
    'interval bucket',
    short,
    bursts,
    (burst) => tokenBucket({ limit: 5, window: short, burst, refill: 'interval' }),
    (n) => intervals(5, w, n, false),
  ),
  kind(
    'sliding window',
    short,
    limits,
    (limit) => slidingWindow({ limit, window: short }),
    (n) => slidingCounter(n, w),
  ),
  kind(
    'segments',
    short,
    limits,
    (limit) => segmentedWindow({ limit, window: short, segments: 7 }),
    (n) => segments(n, w, 7),
  ),
  kind(
    'log',
    short,
    limits,
    (limit) => slidingLog({ limit, window: short }),
    (n) => log(n, w, true),
  ),
  kind(
    'in flight',
    short,
    limits,
    (limit) => concurrency({ limit, lease: short }),
    (n) => log(n, w, false),
  ),
]

interface Open {
  readonly reservation: Reservation
  readonly entry: Entry
  readonly cost: number
  readonly generation: number
  /** The plan that it was made under. */
  readonly plan: number
}

type Expected = Pick<Verdict, 'allowed' | 'remaining' | 'used' | 'retryAfter' | 'resetAfter'>

/** At most as many as a state keeps steps and bookings for: beyond them it may be stricter. */
const mostOpen = 5
const mostArrivals = 7
const start = 1_767_225_600_000_000

export interface Rig {
  readonly store: Store
  /** Sets the store's time, in microseconds. */
  readonly setTime: (micros: number) => void
}

class Player {
  readonly #rig: Rig
  readonly #kind: Kind
  readonly #random: Random
  readonly #key: string
  readonly #limiters: readonly RateLimiter[]
  readonly #micros: number
  readonly #tolerance: number
  readonly #history: string[] = []
  #clock: number
  /** The time of the last commit. */
  #last = 0
  #plan = 0
  /** The plan under which the last call was admitted. */
  #owner = 0
  #entries: Entry[] = []
  #open: Open[] = []
  #arrivals = 0
  /** Reservations of another generation are forgotten. */
  #generation = 0
  readonly #switches: boolean

  constructor(rig: Rig, kind: Kind, random: Random, key: string) {
    const { plans, window } = kind
    const [first] = plans as [Kind['plans'][number]]
    const limiter = new RateLimiter({ name: key, policies: [first.policy], store: rig.store })
    this.#rig = rig
    this.#kind = kind
    this.#random = random
    this.#key = key
    this.#limiters = plans.map(({ policy }) => limiter.withPlan([policy]))
    this.#micros = window * 1000
    this.#tolerance = Math.max(60_000_000, this.#micros)
    this.#clock = start + random(this.#micros)
    this.#switches = random(3) === 0
  }

  get #rules(): Rules {
    const { plans, withoutDebt } = this.#kind
    return this.#switches ? (withoutDebt[this.#plan] as Rules) : (plans[this.#plan] as Kind['plans'][number]).rules
  }

  /** The time that the state goes by: a clock that goes back stands still, unless it goes far back. */
  get #now(): number {
    const behind = this.#last - this.#clock
    return behind > 0 && behind < this.#tolerance ? this.#last : this.#clock
  }

  /** The entries as they count now. */
  get #seen(): readonly Entry[] {
    const at = this.#now
    if (at >= this.#last) return this.#entries
    const by = this.#rules.shift?.(this.#last, at) ?? this.#last - at
    return this.#entries.map(({ time, units }) => ({ time: time - by, units }))
  }

  #commit(): number {
    const at = this.#now
    if (at < this.#last) {
      const by = this.#rules.shift?.(this.#last, at) ?? this.#last - at
      for (const entry of this.#entries) entry.time -= by
      this.#generation++
    } else if (at > this.#last) this.#forget(at)
    this.#last = at
    return at
  }

  /** Forgets the reservations of a key that is like new. */
  #forget(at: number): void {
    if (this.#entries.length === 0 || this.#rules.reset(this.#entries, at) > 0) return
    this.#entries = []
    if (this.#rules.forgets) this.#generation++
  }

  #expected(cost: number): Expected {
    const at = this.#now
    const [rules, seen, lag] = [this.#rules, this.#seen, at - this.#clock]
    const wait = rules.wait(seen, at, cost)
    return {
      allowed: wait === 0,
      remaining: rules.remaining(seen, at),
      used: rules.used(seen, at),
      retryAfter: wait === 0 ? 0 : Math.ceil((wait + lag) / 1000),
      resetAfter: Math.ceil((rules.reset(seen, at) + lag) / 1000),
    }
  }

  /** Under a smaller plan than the owner's, what exceeds the limit counts as the whole limit: only `allowed` is compared. */
  #check({ allowed, remaining, used, retryAfter, resetAfter }: Verdict, wanted: Expected, what: string): void {
    const { burst } = (this.#kind.plans[this.#plan] as Kind['plans'][number]).policy
    const clamped = this.#plan !== this.#owner && wanted.used > burst
    const seen = clamped ? { allowed } : { allowed, remaining, used, retryAfter, resetAfter }
    const due = clamped ? { allowed: wanted.allowed } : wanted
    if (JSON.stringify(seen) !== JSON.stringify(due))
      this.#fail(`${what}: ${JSON.stringify(seen)}, due ${JSON.stringify(due)}`)
  }

  #fail(what: string): never {
    throw new Error(`${this.#kind.name}: ${what}\n${this.#history.slice(-18).join('\n')}`)
  }

  #note(what: string): void {
    this.#history.push(`${this.#clock - start} us: ${what}, plan ${this.#plan}`)
  }

  async play(calls: number): Promise<void> {
    for (let call = 0; call < calls; call++) {
      this.#moveClock()
      if (this.#switches && this.#random(6) === 0) this.#plan = this.#random(this.#limiters.length)
      await this.#step()
    }
  }

  /** A debt is worked off by the limit of the plan, and the model knows one limit: so plans change only without debt. */
  get #mayOwe(): boolean {
    return !this.#switches || !this.#rules.worksOffDebt
  }

  #moveClock(): void {
    const random = this.#random
    const step = random(20)
    if (step < 8) this.#clock += random(3) === 0 ? random(this.#micros) : random(Math.ceil(this.#micros / 8))
    else if (step === 8) this.#clock -= random(this.#tolerance)
    else if (step === 9 && random(8) === 0) this.#clock -= this.#tolerance + random(3 * this.#micros)
    else if (step === 10) this.#clock += 2 * this.#micros + random(this.#micros)
    if (random(10) === 0) this.#clock += 1000 - (this.#clock % 1000)
    if (this.#clock < start / 2) this.#clock = start
    this.#rig.setTime(this.#clock)
  }

  async #step(): Promise<void> {
    const random = this.#random
    const cost = 1 + random(random(3) === 0 ? 12 : 3)
    const verb = random(20)
    if (this.#open.length > mostOpen || (this.#open.length > 0 && this.#arrivals > mostArrivals))
      await this.#settleAll()
    else if (verb < 7) await this.#consume(cost)
    else if (verb < 12)
      await this.#reserve(cost, this.#mayOwe && this.#rules.promises && random(2) === 0 ? 2 * this.#kind.window : 0)
    else if (verb < 17) await this.#settleOne()
    else if (verb === 17 && this.#mayOwe) await this.#charge(cost)
    else if (verb === 18 && random(4) === 0) await this.#reset()
    else await this.#peek(cost)
  }

  get #limiter(): RateLimiter {
    return this.#limiters[this.#plan] as RateLimiter
  }

  async #peek(cost: number): Promise<void> {
    this.#note(`peek ${cost}`)
    const { policies } = await this.#limiter.peek(this.#key, { cost })
    this.#check(policies[0] as Verdict, this.#expected(cost), 'peek')
  }

  async #consume(cost: number): Promise<void> {
    this.#note(`consume ${cost}`)
    const before = this.#expected(cost)
    const { policies } = await this.#limiter.consume(this.#key, { cost })
    if (before.allowed) {
      this.#pour(cost, 0)
      this.#check(policies[0] as Verdict, { ...this.#expected(cost), allowed: true, retryAfter: 0 }, 'consume')
    } else {
      this.#check(policies[0] as Verdict, before, 'consume')
      this.#refused()
    }
  }

  /** True if nothing tells the key from one that never called, so that it belongs to no plan. */
  get #isNew(): boolean {
    return this.#last === 0 || (this.#clock >= this.#last && this.#rules.reset(this.#entries, this.#clock) === 0)
  }

  /** A refusal takes the new time if the clock went far back. */
  #refused(): void {
    if (this.#now < this.#last) this.#commit()
  }

  #pour(cost: number, wait: number): Entry {
    const at = this.#commit()
    this.#owner = this.#plan
    const entry = { time: this.#rules.entryTime?.(this.#entries, at, wait) ?? at + wait, units: BigInt(cost) }
    this.#entries.push(entry)
    this.#arrivals++
    return entry
  }

  async #reserve(cost: number, maxWait: number): Promise<void> {
    this.#note(`reserve ${cost} within ${maxWait}`)
    const at = this.#now
    const wait = this.#rules.wait(this.#seen, at, cost)
    const delay = wait === 0 ? 0 : wait + at - this.#clock
    // A state that was left under other numbers cannot promise a time under these.
    const moved = this.#plan !== this.#owner && !this.#isNew
    const due = wait === 0 || (delay <= maxWait * 1000 && !moved)
    const reservation = await this.#limiter.reserve(this.#key, { cost, maxWait })
    if (reservation.allowed !== due) this.#fail(`reserve: ${reservation.allowed}, due in ${delay}`)
    if (!due) {
      this.#refused()
      return
    }
    if (reservation.wait !== Math.ceil(delay / 1000)) this.#fail(`reserve: wait ${reservation.wait}, due ${delay} us`)
    const entry = this.#pour(cost, wait)
    this.#open.push({ reservation, entry, cost, generation: this.#generation, plan: this.#plan })
  }

  async #settleOne(): Promise<void> {
    if (this.#open.length === 0) return
    const n = this.#random(this.#open.length)
    const { cost } = this.#open[n] as Open
    await this.#settle(n, [0, 0, Math.floor(cost / 2), cost, cost + 2][this.#random(this.#mayOwe ? 5 : 4)] as number)
  }

  async #settleAll(): Promise<void> {
    while (this.#open.length > 0) await this.#settle(this.#random(this.#open.length), 0)
    this.#arrivals = 0
  }

  async #settle(n: number, actual: number): Promise<void> {
    const [{ reservation, entry, cost, generation, plan }] = this.#open.splice(n, 1) as [Open]
    this.#note(`settle ${cost} to ${actual}`)
    await reservation.settle(actual)
    if (!this.#kind.leases && actual > cost) this.#charged(actual - cost, plan)
    else if (generation === this.#generation && (this.#kind.leases || actual < cost)) {
      if (this.#isNew && plan !== this.#owner) {
        if (this.#rules.forgets) return
        this.#owner = plan
      }
      this.#commit()
      if (generation !== this.#generation) return // the clock went far back, or the key is like new
      entry.units -= BigInt(this.#kind.leases ? cost : cost - actual)
      this.#forget(this.#last)
    }
  }

  /** A charge moves no key to another plan, but a key that is like new has none. */
  #charged(units: number, plan: number): void {
    const owner = this.#isNew ? plan : this.#owner
    const at = this.#commit()
    const entry = { time: this.#rules.entryTime?.(this.#entries, at, 0) ?? at, units: BigInt(units) }
    this.#entries.push(entry)
    this.#arrivals++
    this.#owner = owner
  }

  async #charge(cost: number): Promise<void> {
    this.#note(`charge ${cost}`)
    await this.#limiter.charge(this.#key, { cost })
    this.#charged(cost, this.#plan)
  }

  async #reset(): Promise<void> {
    this.#note('reset')
    await this.#limiter.reset(this.#key)
    this.#entries = []
    this.#last = 0
    this.#generation++
    this.#owner = this.#plan
  }
}

/** The calls of one timeline. */
export const callsOfOne = 60

/**
 * Plays that many timelines of one kind, each on a key of its own. A difference is thrown with the seed that plays it again.
 * @param makeStore called for every timeline
 */
export async function playMany(
  makeStore: () => Store,
  setTime: Rig['setTime'],
  kind: Kind,
  timelines: number,
  seed: number,
): Promise<void> {
  for (let n = 0; n < timelines; n++) {
    const own = (seed + n * 2_654_435_761) % 2 ** 31 || 1
    setTime(start)
    try {
      await new Player({ store: makeStore(), setTime }, kind, seededRandom(own), `${kind.name} ${own}`).play(callsOfOne)
    } catch (error) {
      throw new Error(`seed ${own}: ${(error as Error).message}`, { cause: error })
    }
  }
}
