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
  /** True if a refund is an entry below 0. A sliding window fades what it gives back. */
  readonly refunds: boolean
  /** The rule by which units count as just taken under another plan: its algorithm or its window is another one. */
  readonly carries?: 'keep' | 'scale'
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
  const { leases = false, kind } = (plans[0] as Kind['plans'][number]).policy.algorithm
  const withoutDebt = numbers.map((n) => noDebt?.(n) ?? rules(n))
  return { name, window, plans, withoutDebt, leases, refunds: !leases && kind !== 'slidingWindow' }
}

/** Plans of one name that have nothing in common. */
function changing(name: string, carries: 'keep' | 'scale', all: readonly (readonly [Policy, Rules])[]): Kind {
  const plans = all.map(([policy, rules]) => ({ policy: { ...policy, name: 'p', label: 'p' }, rules }))
  const withoutDebt = plans.map(({ rules }) => rules)
  return { name: `${name}, ${carries}`, window: short, plans, withoutDebt, leases: false, refunds: true, carries }
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
  ...(['keep', 'scale'] as const).flatMap((rule) => [
    changing('from bucket to windows', rule, [
      [tokenBucket({ limit: 7, window: short, burst: 9 }), bucket(7, w, 9)],
      [fixedWindow({ limit: 4, window: 2 * short, align: 'first-request' }), intervals(4, 2 * w, 4, false)],
      [slidingWindow({ limit: 11, window: short }), slidingCounter(11, w)],
    ]),
    changing('from clock windows to logs', rule, [
      [fixedWindow({ limit: 6, window: short }), intervals(6, w, 6, true)],
      [slidingLog({ limit: 10, window: 3 * short }), log(10, 3 * w, true)],
      [segmentedWindow({ limit: 3, window: short, segments: 4 }), segments(3, w, 4)],
    ]),
    changing('from window to window', rule, [
      [slidingLog({ limit: 5, window: short }), log(5, w, true)],
      [slidingLog({ limit: 8, window: 2 * short }), log(8, 2 * w, true)],
      [slidingLog({ limit: 2, window: 3 * short }), log(2, 3 * w, true)],
    ]),
  ]),
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
  /** A key that refunds have emptied may be forgotten, and then a settlement takes no time: so no clock goes back. */
  readonly #refunds: boolean

  constructor(rig: Rig, kind: Kind, random: Random, key: string) {
    const { plans, window } = kind
    const [first] = plans as [Kind['plans'][number]]
    const onChange = kind.carries ?? 'keep'
    const limiter = new RateLimiter({ name: key, policies: [first.policy], store: rig.store, onChange })
    this.#rig = rig
    this.#kind = kind
    this.#random = random
    this.#key = key
    this.#limiters = plans.map(({ policy }) => limiter.withPlan([policy]))
    this.#micros = window * 1000
    this.#tolerance = Math.max(60_000_000, this.#micros)
    this.#clock = start + random(this.#micros)
    this.#refunds = kind.refunds && random(2) === 0
    this.#switches = random(3) === 0 || kind.carries !== undefined
  }

  /** Of the plan by whose numbers the entries count. */
  get #rules(): Rules {
    if (this.#kind.carries) return this.#planOf(this.#owner).rules
    const { plans, withoutDebt } = this.#kind
    return this.#switches ? (withoutDebt[this.#plan] as Rules) : (plans[this.#plan] as Kind['plans'][number]).rules
  }

  #planOf(n: number): Kind['plans'][number] {
    return this.#kind.plans[n] as Kind['plans'][number]
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

  /** Used units of the owner's plan, as they count under the present plan. */
  #carried(at: number): number {
    const [whole, most] = [this.#planOf(this.#owner).policy.burst, this.#planOf(this.#plan).policy.burst]
    const used = Math.min(whole, this.#rules.used(this.#seen, at)) // no debt
    return Math.min(most, this.#kind.carries === 'scale' ? Math.ceil((used * most) / whole) : used)
  }

  /** What a key is told under a plan that it has not moved to: the waits end when the units leave by the owner's rules. */
  #carriedOver(cost: number): Expected {
    const at = this.#now
    const { burst } = this.#planOf(this.#plan).policy
    const [used, lag, reset] = [this.#carried(at), at - this.#clock, this.#rules.reset(this.#seen, at)]
    const allowed = used + cost <= burst
    let [refused, admitted] = [at, allowed ? at : at + reset]
    while (admitted - refused > 1) {
      const middle = Math.floor((refused + admitted) / 2)
      if (this.#carried(middle) + cost <= burst) admitted = middle
      else refused = middle
    }
    return {
      allowed,
      remaining: burst - used,
      used,
      retryAfter: allowed ? 0 : cost > burst ? Infinity : Math.ceil((admitted - at + lag) / 1000),
      resetAfter: Math.ceil((reset + lag) / 1000),
    }
  }

  /** True if the state has to be carried over to the present plan. */
  get #foreign(): boolean {
    return this.#kind.carries !== undefined && this.#plan !== this.#owner && !this.#isNew
  }

  #expected(cost: number): Expected {
    if (this.#foreign) return this.#carriedOver(cost)
    const at = this.#now
    const fresh = this.#kind.carries !== undefined && this.#isNew
    const rules = fresh ? this.#planOf(this.#plan).rules : this.#rules
    const [seen, lag] = [fresh ? [] : this.#seen, at - this.#clock]
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
    const clamped = !this.#kind.carries && this.#plan !== this.#owner && wanted.used > burst
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
    else if (this.#refunds) this.#clock += random(this.#micros >> 4)
    else if (step === 8) this.#clock -= random(this.#tolerance)
    else if (step === 9 && random(8) === 0 && !this.#kind.carries)
      this.#clock -= this.#tolerance + random(3 * this.#micros)
    else if (step === 10) this.#clock += 2 * this.#micros + random(this.#micros)
    if (random(10) === 0) this.#clock += 1000 - (this.#clock % 1000)
    if (this.#clock < start / 2) this.#clock = start
    this.#rig.setTime(this.#clock)
  }

  async #step(): Promise<void> {
    const random = this.#random
    const cost = 1 + random(random(3) === 0 ? 12 : 3)
    const verb = random(20)
    if (this.#kind.carries && verb >= 7 && verb < 17) await (verb < 12 ? this.#consume(cost) : this.#peek(cost))
    else if (this.#open.length > mostOpen || (this.#open.length > 0 && this.#arrivals > mostArrivals))
      await this.#settleAll()
    else if (verb < 7) await this.#consume(cost)
    else if (verb < 12)
      await this.#reserve(cost, this.#mayOwe && this.#rules.promises && random(2) === 0 ? 2 * this.#kind.window : 0)
    else if (verb < 17) await this.#settleOne()
    else if (verb === 17 && this.#mayOwe) await this.#charge(cost)
    else if (verb === 18 && this.#mayRefund && random(2) === 0) await this.#refund(cost)
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

  /** A key that is like new belongs to the plan of its next call. */
  #adopt(): void {
    if (!this.#kind.carries || !this.#isNew) return
    this.#entries = []
    this.#owner = this.#plan
  }

  #pour(cost: number, wait: number): Entry {
    // A plan begins a key that is like new with a new state, which does not know earlier reservations.
    if (this.#plan !== this.#owner && this.#isNew) this.#generation++
    this.#adopt()
    const carried = this.#foreign ? this.#carried(this.#now) : undefined
    const at = this.#commit()
    this.#owner = this.#plan
    if (carried !== undefined) {
      const time = this.#rules.entryTime?.([], at, 0) ?? at
      this.#entries = carried > 0 ? [{ time, units: BigInt(carried) }] : []
    }
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
    if (plan !== this.#owner && this.#hasEnded(entry)) return // whether a settlement that gives nothing back takes the time is open
    await reservation.settle(actual)
    if (!this.#kind.leases && actual > cost) this.#charged(actual - cost, plan)
    else if (generation === this.#generation && (this.#kind.leases || actual < cost)) {
      if (plan !== this.#owner && this.#isNew) return
      this.#commit()
      if (generation !== this.#generation) return // the clock went far back, or the key is like new
      entry.units -= BigInt(this.#kind.leases ? cost : cost - actual)
      this.#forget(this.#last)
    }
  }

  /** True for a unit in flight whose lease has ended. */
  #hasEnded({ time }: Entry): boolean {
    return this.#kind.leases && time <= this.#now - this.#micros
  }

  /** A charge moves no key to another plan, but a key that is like new has none. */
  #charged(units: number, plan: number): void {
    this.#adopt()
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

  /** With nothing booked ahead, which a refund would move. */
  get #mayRefund(): boolean {
    const { kind } = this.#planOf(this.#owner).policy.algorithm
    if (!this.#refunds || kind === 'slidingWindow') return false
    // Segments do not know the order of calls, nor does a log within a microsecond.
    const ordered = kind === 'bucket' || kind === 'intervalBucket'
    return (ordered || this.#open.length === 0) && this.#entries.every(({ time }) => time <= this.#clock)
  }

  async #refund(cost: number): Promise<void> {
    this.#note(`refund ${cost}`)
    await this.#limiter.refund(this.#key, { cost })
    if (!this.#isNew) this.#charged(-cost, this.#owner)
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
