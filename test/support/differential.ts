/*
 * Random scripts, played on the reference store, the memory store and another store: equal decisions, equal states.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Kind } from '../../src/algorithms/algorithm.ts'
import { forever } from '../../src/algorithms/bans/ban.ts'
import { penalty } from '../../src/algorithms/bans/penalty-policy.ts'
import type { StateRule } from '../../src/algorithms/carry.ts'
import { withLimit } from '../../src/algorithms/define-policy.ts'
import type { Alternatives, Costs } from '../../src/algorithms/evaluation/evaluation.ts'
import { concurrency } from '../../src/algorithms/logs/concurrency.ts'
import {
  type Clock,
  counter,
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  type Store,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import type { Booking, Ledger, LedgerTerms } from '../../src/store.ts'
import { costsTaken } from '../../src/stores/contract/index.ts'
import { evenCalendarWindow, windowsAt } from './even-calendar.ts'
import fc from './fast-check.ts'
import { type ReferenceLedger, ReferenceStore } from './reference-store.ts'
import { plainStates, type State } from './states.ts'

/** The store that is compared, on a server that many runs share. */
export interface Subject {
  store(clock: Clock): Store
  /** True if it keeps more in the states of a call on several keys, to give it back to one of them. */
  readonly withdraws?: boolean
  /** The states that it keeps of a key, by policy name; absent if the store cannot show them. */
  states?(limiter: string, scope: string, id: string, own: readonly Policy[]): Promise<Record<string, State>>
}

/** Random policies of each kind, by the name of a test. Penalties are made by `punishment`. */
const policiesOfKind = {
  bucket: { bucket: policies(({ limit, window, burst, ...rest }) => gcra({ limit, window, burst, ...rest })) },
  intervalBucket: {
    interval: policies((options) => tokenBucket({ ...options, refill: 'interval' })),
    clockWindow: policies(({ burst, ...options }) => fixedWindow(options)),
    firstRequest: policies(({ burst, ...options }) => fixedWindow({ ...options, align: 'first-request' })),
    counter: policies(({ window, name, scope }) => counter({ window, name, scope })),
  },
  slidingWindow: { slidingWindow: policies(({ burst, ...options }) => slidingWindow(options)) },
  segmentedWindow: {
    segmentedWindow: policies(({ burst, ...options }) => segmentedWindow({ ...options, segments: (burst % 5) + 1 })),
  },
  calendarWindow: {
    calendarWindow: policies(({ burst, ...options }) =>
      evenCalendarWindow(options, burst % 4 === 0 ? 7 : 1, burst % 3 === 0 ? undefined : [0.5, 0.8, 1]),
    ),
  },
  slidingLog: { slidingLog: policies(({ burst, ...options }) => slidingLog(options)) },
  concurrency: {
    concurrency: policies(({ window, burst, countRefused, ...options }) => concurrency({ ...options, lease: window })),
  },
  smoothBursty: {
    smoothBursty: policies((numbers) => {
      const { limit, window: per, burst, ...rest } = numbers
      return smoothBursty({ rate: rateOf(numbers), per, maxStored: Math.floor(burst / 3) * 0.7, ...rest })
    }),
  },
  smoothWarmingUp: {
    smoothWarmingUp: policies((numbers) => {
      const { limit, window: per, burst, ...rest } = numbers
      const coldFactor = [3, 0.3, 1, 2.7][burst % 4] as number
      return smoothWarmingUp({ rate: rateOf(numbers), per, warmup: burst * 20, coldFactor, ...rest })
    }),
  },
  penalty: {},
} satisfies Readonly<Record<Kind, Readonly<Record<string, (name: string) => fc.Arbitrary<Policy>>>>>

type Name = { [K in Kind]: keyof (typeof policiesOfKind)[K] }[Kind]

/** The same of all kinds. */
export const algorithms: Readonly<Record<Name, (name: string) => fc.Arbitrary<Policy>>> = Object.assign(
  {},
  ...Object.values(policiesOfKind),
)

interface Numbers {
  limit: number
  window: number
  burst: number
  name: string
  scope: string
  countRefused: boolean
  shadow: boolean
}

/** Some rates are fractions, and some are so slow that a cost of 4 is too large. */
function rateOf({ limit, window, burst }: Numbers): number {
  if (burst % 5 === 0 && burst < 20) return (window * 1000) / 1.2e15
  return Math.min(1000 * window, burst % 2 === 0 ? limit : 0.3 * limit) // at most one a microsecond
}

function policies(build: (numbers: Numbers) => Policy) {
  const numbers = fc.record({
    limit: fc.oneof(fc.integer({ min: 1, max: 12 }), fc.integer({ min: 1, max: 5000 })),
    window: fc.oneof(fc.constantFrom(1, 7, 10, 100), fc.integer({ min: 1, max: 700 })),
    burst: fc.integer({ min: 1, max: 20 }),
    scope: fc.constantFrom('ip', 'user'),
    countRefused: fc.nat(4).map((n) => n === 0),
    shadow: fc.nat(5).map((n) => n === 0),
  })
  return (name: string) => numbers.map((each) => build({ ...each, name }))
}

const fewInFlight = policies(({ limit, window, name, scope }) =>
  concurrency({ limit: (limit % 4) + 2, lease: 1000 * window, name, scope }),
)

/** Milliseconds, often such that a script meets exactly their end. */
const span = fc.oneof(fc.constantFrom(1, 7, 10, 100), fc.integer({ min: 1, max: 700 }))

/** Penalties of two scopes, some in shadow mode. */
export const punishment = punishments('refused', 'refused', 'spent', 'spent', 'window')

function punishments(...forms: ('refused' | 'spent' | 'window')[]): fc.Arbitrary<Policy> {
  return fc
    .record({
      after: fc.integer({ min: 1, max: 4 }),
      // Few scripts meet exactly the end of a count, unless it is one of the pauses.
      within: fc.oneof({ weight: 3, arbitrary: fc.constantFrom(1, 7, 10, 100) }, span),
      ban: fc.array(span, { minLength: 1, maxLength: 3 }),
      forget: span,
      extend: fc.boolean(),
      restart: fc.boolean(),
      form: fc.constantFrom(...forms),
    })
    .chain(({ form, after, within, ...timed }) => {
      const refused = { after, within, ...(form === 'window' ? { until: 'window' as const } : timed) }
      const options = form === 'spent' ? { on: form, ...timed } : refused
      const longest = within * 1000
      const scopes = fc.tuple(fc.constantFrom('ip', 'user'), fc.nat(3))
      return scopes.map(([scope, shadow]) => penalty(options, scope, shadow === 0, longest))
    })
}

/**
 * One policy of that algorithm, or several of any, or two and a penalty for their refusals, or one and a penalty for its last unit, or one of
 * few units in flight.
 */
export function policiesOf(
  algorithm: keyof typeof algorithms | 'several' | 'punished' | 'spent' | 'fewInFlight',
): fc.Arbitrary<Policy[]> {
  const any = (name: string) => fc.oneof(...Object.values(algorithms).map((build) => build(name)))
  if (algorithm === 'punished') return fc.tuple(any('p0'), algorithms.clockWindow('p1'), punishment)
  if (algorithm === 'fewInFlight') return fc.tuple(fewInFlight('only'))
  if (algorithm === 'spent') return fc.tuple(algorithms.clockWindow('p0'), punishments('spent'))
  if (algorithm !== 'several') return algorithms[algorithm]('only').map((policy) => [policy])
  return fc
    .integer({ min: 2, max: 4 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => any(`p${n}`))))
}

/** Often 0, as in a list whose costs ask different policies. */
const unitsOfList = fc.oneof(fc.constant(0), fc.nat(6))

const operation = fc.record({
  verb: fc.oneof(
    { weight: 6, arbitrary: fc.constantFrom('consume', 'reserve', 'settle') },
    { weight: 3, arbitrary: fc.constantFrom('reserve', 'settle', 'renew') },
    { weight: 2, arbitrary: fc.constantFrom('charge', 'refund', 'peek', 'reset') },
    { weight: 1, arbitrary: fc.constantFrom('ban', 'unban', 'unban') },
  ),
  ids: fc.tuple(fc.nat(3), fc.nat(3)).map((ids) => ids.map((id) => (id === 0 ? 1 : 0))),
  cost: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.integer({ min: 1, max: 30 })),
  /** A cost for each policy, in turn; undefined for `cost` under every policy. */
  costs: fc.option(fc.array(fc.nat(6), { minLength: 1, maxLength: 4 }), { nil: undefined, freq: 4 }),
  /** The costs that a call tries in their order, each with a cost for each policy, in turn; undefined for one cost. */
  list: fc.oneof(
    { weight: 4, arbitrary: fc.constant(undefined) },
    {
      weight: 1,
      arbitrary: fc.array(fc.array(unitsOfList, { minLength: 1, maxLength: 4 }), { minLength: 1, maxLength: 3 }),
    },
  ),
  /** Which reservation is settled or renewed, and whether it can be settled again. */
  open: fc.nat(7),
  again: fc.nat(9).map((n) => n === 0),
  /** Microseconds. */
  later: fc.oneof(
    { weight: 8, arbitrary: fc.constantFrom(0, 0, 1, 999, 1000, 1001, 7000, 10_000, 100_000) },
    { weight: 12, arbitrary: fc.integer({ min: 0, max: 350_000 }) },
    { weight: 4, arbitrary: fc.constantFrom(-1, -1000, -7000, -10_000, -100_000) },
    { weight: 4, arbitrary: fc.integer({ min: -3000, max: 0 }) },
    { weight: 4, arbitrary: fc.integer({ min: -1_500_000, max: 0 }) },
    { weight: 1, arbitrary: fc.constantFrom(-59_999_000, -60_000_000, -60_000_001, -90_000_000) },
  ),
  maxWait: fc.constantFrom(0, 1000, 7000, 10_000, 100_000, 1_000_000),
  /** After how many microseconds a reservation gives its units back; undefined if it keeps them. */
  expires: fc.option(fc.constantFrom(1, 1000, 7000, 100_000, 1_000_000), { nil: undefined, freq: 2 }),
  details: fc.record({ at: fc.boolean(), nextAfter: fc.boolean() }),
  plan: fc.nat(2),
  ban: fc.record({
    duration: fc.constantFrom(1000, 7000, 10_000, 100_000, 300_000, forever),
    reason: fc.constantFrom(undefined, 'scans', 'é'.repeat(200)),
    extends: fc.boolean(),
    /** Which scope alone; 2 for each. */
    scope: fc.nat(2),
  }),
})

export const scripts = fc.record({
  operations: fc.array(operation, { minLength: 1, maxLength: 24 }),
  start: fc.constantFrom<number[]>(2_000_000, 1_767_225_600_000_000),
  /** True if each call waits for the one before. Else calls are sent together. */
  awaited: fc.boolean(),
})

export type Script = typeof scripts extends fc.Arbitrary<infer T> ? T : never

let runs = 0

/** Several plans with the same names and scopes, but other numbers, windows and penalties, of that algorithm or of any. */
export function plansOf(algorithm?: keyof typeof algorithms): fc.Arbitrary<Policy[][]> {
  const builds = algorithm === undefined ? Object.values(algorithms) : [algorithms[algorithm]]
  const of = (scope: string, n: number) => {
    const same = fc.constantFrom(...builds).chain((build) => fc.array(build(`p${n}`), three))
    const other = fc.array(fc.oneof(...builds.map((build) => build(`p${n}`))), three)
    return fc.oneof(same.map(ofOneWindow), same, other).map((all) => all.map((each) => ({ ...each, scope })))
  }
  return fc
    .array(fc.constantFrom('ip', 'user'), { minLength: 1, maxLength: 2 })
    .chain((scopes) => fc.tuple(...scopes.map(of)))
    .map((columns) => [0, 1, 2].map((n) => columns.map((all) => all[n] as Policy)))
    .chain((plans) =>
      fc.option(fc.array(punishment, three), { freq: 2 }).map((penalties) => withPenalties(plans, penalties)),
    )
}

/**
 * The plans, each with a penalty of its own, or all with none: a store may forget a penalty that the plan of a call does not
 * have, and then a clock that goes back does not restore it.
 */
function withPenalties(plans: Policy[][], penalties: readonly Policy[] | null): Policy[][] {
  const scope = plans[0]?.[0]?.scope as string
  return plans.map((plan, n) => (penalties === null ? plan : [...plan, { ...(penalties[n] as Policy), scope }]))
}

const three = { minLength: 3, maxLength: 3 }

/** Changes the limit alone. If a limit cannot be exact, the policy stays as it is. */
function ofOneWindow([first, ...more]: Policy[]): Policy[] {
  const changed = more.map(({ limit }) => {
    try {
      return withLimit(first as Policy, limit)
    } catch {
      return first as Policy
    }
  })
  return [first as Policy, ...changed]
}

/** Plays a script on all three, and throws at the first difference. With several plans, each call uses one of them. */
export async function compare(
  subject: Subject,
  policies: readonly Policy[] | readonly (readonly Policy[])[],
  script: Script,
  onChange: StateRule = 'keep',
): Promise<void> {
  const all = (Array.isArray(policies[0]) ? policies : [policies]) as readonly (readonly Policy[])[]
  let now = script.start
  const clock = () => now
  const scopes = [...new Set(all.flatMap((plan) => plan.map(({ scope }) => scope)))]
  const name = `${process.pid}-${runs++}`
  const terms = all.map((plan): LedgerTerms => ({ name, policies: plan, scopes, onChange }))
  const references = ledgersOf(new ReferenceStore(clock), terms) as ReferenceLedger[]
  const stores = [memoryStore({ clock }), subject.store(clock)].map((store) => ledgersOf(store, terms))
  const reservations: Reserved[] = []
  const pending: Promise<void>[] = []
  const { random } = Math
  let granted = 0
  Math.random = () => granted / 2 ** 48 // the ids of the reference: 1, 2, 3 ...

  async function sameStates(): Promise<void> {
    if (subject.states === undefined || (subject.withdraws && scopes.length > 1)) return
    for (const scope of scopes) {
      for (const id of ['0', '1']) {
        const kept = (references[0] as ReferenceLedger).states(scope, id)
        const states = await subject.states(name, scope, id, [...kept.keys()])
        same(states, plainStates(kept), { scope, id, now })
      }
    }
  }

  async function reserve(
    ledgers: readonly Ledger[],
    call: Omit<Reserved, 'bookings'>,
    alternatives?: Alternatives,
    old?: Reserved,
  ): Promise<void> {
    const { keys, costs, maxWait, expires } = call
    const bookings = await Promise.all(
      ledgers.map((ledger, n) => {
        const renews = old?.bookings[n]?.tickets
        const verb = renews === undefined ? 'reserve' : 'renew'
        return ledger.run({
          verb,
          keys,
          costs,
          alternatives,
          maxWait,
          expires: renews === undefined ? expires : undefined,
          tickets: renews,
          windows: windowsAt(all[call.plan] as readonly Policy[], now),
        })
      }),
    )
    const [expected, ...others] = bookings as [Booking, ...Booking[]]
    // A store that may have to withdraw a call on several keys makes tickets for every call, so a refund moves later tickets by 1 us.
    const timed = subject.withdraws !== true || scopes.length === 1
    for (const booking of others)
      same(withoutIds(booking, timed), withoutIds(expected, timed), { ...call, alternatives, now })
    if (expected.tickets === undefined) return
    granted++
    if (old === undefined)
      reservations.push({ ...call, costs: costsTaken({ costs, alternatives }, expected.decision), bookings })
    else old.bookings = bookings
  }

  async function play(operation: Script['operations'][number]): Promise<void> {
    const { verb, ids, cost, later, maxWait, expires, details, open, again } = operation
    now = Math.max(0, now + later)
    let plan = operation.plan % all.length
    let keys = scopes.map((_, n) => `${ids[n]}`)
    const old = reservations[open % Math.max(1, reservations.length)]
    if (verb === 'settle' || verb === 'renew') {
      if (old === undefined) return
      plan = old.plan
      keys = old.keys
    }
    const each = (some: readonly number[]) => {
      return (all[plan] as readonly Policy[]).map((_, n) => some[n % some.length] as number)
    }
    const counts = each(operation.costs ?? [cost])
    const alternatives =
      verb === 'consume' || verb === 'reserve' || verb === 'peek' ? operation.list?.map(each) : undefined
    let costs: Costs = alternatives?.[0] ?? (operation.costs === undefined ? cost : counts)
    const ledgers = [references, ...stores].map((opened) => opened[plan] as Ledger)
    if (verb === 'reserve') return reserve(ledgers, { plan, keys, costs, maxWait, expires }, alternatives)
    if (verb === 'renew') {
      return reserve(
        ledgers,
        { plan, keys, costs: (old as Reserved).costs, maxWait: 0, expires: undefined },
        undefined,
        old,
      )
    }
    if (verb === 'settle') {
      const { costs: reserved, isKept } = old as Reserved
      const settled = all[plan] as readonly Policy[]
      costs = counts.map((count, n) => {
        const units = typeof reserved === 'number' ? reserved : (reserved[n] as number)
        return settled[n]?.algorithm.spends ? (isKept ? 0 : -units) : count - units
      })
      if (again) (old as Reserved).isKept = true
      else reservations.splice(reservations.indexOf(old as Reserved), 1)
    }
    const some = keys.map((key, n) => (operation.ban.scope === 2 || n === operation.ban.scope ? key : undefined))
    const results = ledgers.map((ledger, n): unknown => {
      if (verb === 'ban') return ledger.run({ verb: 'ban', keys: some, ban: operation.ban })
      if (verb === 'unban') return ledger.run({ verb: 'unban', keys: some })
      if (verb === 'reset') return ledger.run({ verb, keys })
      const tickets = verb === 'settle' ? (old as Reserved).bookings[n]?.tickets : undefined
      return ledger.run({
        verb,
        keys,
        costs,
        alternatives,
        tickets,
        unreserved: verb === 'refund' && open % 2 === 0,
        details,
        windows: windowsAt(all[plan] as readonly Policy[], now),
      })
    })
    const context = { verb, keys, costs, alternatives, now, plan }
    for (const result of results.slice(1)) {
      const compared = Promise.resolve(result).then((actual) => same(actual, results[0], context))
      compared.catch(() => {}) // awaited below, unless another difference comes first
      pending.push(compared)
    }
  }

  try {
    for (const operation of script.operations) {
      await play(operation)
      if (script.awaited) {
        await Promise.all(pending.splice(0))
        await sameStates()
      }
    }
    await Promise.all(pending)
    await sameStates()
  } finally {
    Math.random = random
  }
}

/** A granted reservation, with a booking of each ledger. */
interface Reserved {
  readonly plan: number
  readonly keys: string[]
  readonly costs: Costs
  readonly maxWait: number
  readonly expires: number | undefined
  /** True if a settlement has told a penalty that the units stay used. A penalty is told once. */
  isKept?: boolean
  bookings: readonly Booking[]
}

/** Another process has ids of its own. @param timed false to leave out the times of the tickets too */
function withoutIds({ tickets, ...rest }: Booking, timed: boolean): unknown {
  return { ...rest, tickets: tickets?.map((ticket) => ticket && [timed && ticket[0], ticket[2], ticket[3]]) }
}

function ledgersOf(store: Store, [first, ...more]: readonly LedgerTerms[]): Ledger[] {
  const ledger = store.open(first as LedgerTerms)
  return [ledger, ...more.map((terms) => store.open(terms, ledger))]
}

function same(actual: unknown, expected: unknown, context: object): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${JSON.stringify(context)}\n got ${show(actual)}\nwant ${show(expected)}`)
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === Infinity ? 'Infinity' : each))
}
