/*
 * Random scripts, played on the reference store, the memory store and another store: equal decisions, equal states.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import type { Ticket } from '../../src/algorithms/algorithm.ts'
import type { StateRule } from '../../src/algorithms/carry.ts'
import { concurrency } from '../../src/algorithms/concurrency.ts'
import { withLimit } from '../../src/algorithms/define-policy.ts'
import type { Costs, Tickets } from '../../src/algorithms/evaluation.ts'
import { penalty } from '../../src/algorithms/penalty.ts'
import {
  type Clock,
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
import type { Booking, DecideVerb, Ledger, LedgerTerms } from '../../src/stores/store.ts'
import { type ReferenceLedger, ReferenceStore } from './reference-store.ts'
import { plainStates, type State } from './states.ts'

/** The store that is compared, on a server that many runs share. */
export interface Subject {
  store(clock: Clock): Store
  /** The states that it keeps of a key, by policy name; absent if the store cannot show them. */
  states?(limiter: string, scope: string, id: string, own: readonly Policy[]): Promise<Record<string, State>>
}

/** Random policies of each algorithm, by a name. */
export const algorithms = {
  bucket: policies(({ limit, window, burst, ...rest }) => gcra({ limit, window, burst, ...rest })),
  interval: policies((options) => tokenBucket({ ...options, refill: 'interval' })),
  clockWindow: policies(({ burst, ...options }) => fixedWindow(options)),
  firstRequest: policies(({ burst, ...options }) => fixedWindow({ ...options, align: 'first-request' })),
  slidingWindow: policies(({ burst, ...options }) => slidingWindow(options)),
  segmentedWindow: policies(({ burst, ...options }) => segmentedWindow({ ...options, segments: (burst % 5) + 1 })),
  slidingLog: policies(({ burst, ...options }) => slidingLog(options)),
  concurrency: policies(({ limit, window, name, scope, shadow }) => {
    return concurrency({ limit, lease: window, name, scope, shadow })
  }),
  smoothBursty: policies((numbers) => {
    const { limit, window: per, burst, ...rest } = numbers
    return smoothBursty({ rate: rateOf(numbers), per, maxStored: Math.floor(burst / 3) * 0.7, ...rest })
  }),
  smoothWarmingUp: policies((numbers) => {
    const { limit, window: per, burst, ...rest } = numbers
    const coldFactor = [3, 0.3, 1, 2.7][burst % 4] as number
    return smoothWarmingUp({ rate: rateOf(numbers), per, warmup: burst * 20, coldFactor, ...rest })
  }),
}

interface Numbers {
  limit: number
  window: number
  burst: number
  name: string
  scope: string
  countRefused: boolean
  shadow: boolean
}

/** Some rates are fractions, and some are so slow that a cost of 4 is too large. None gives more than a permit in 1 us. */
function rateOf({ limit, window, burst }: Numbers): number {
  if (burst % 5 === 0 && burst < 20) return (window * 1000) / 1.2e15
  return Math.min(burst % 2 === 0 ? limit : 0.3 * limit, window * 1000)
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

/** Milliseconds, often such that a script meets exactly their end. */
const span = fc.oneof(fc.constantFrom(1, 7, 10, 100), fc.integer({ min: 1, max: 700 }))

const punishment = fc
  .record({
    after: fc.integer({ min: 1, max: 4 }),
    within: span,
    block: fc.array(span, { minLength: 1, maxLength: 3 }),
    forget: span,
  })
  .chain((options) =>
    fc.tuple(fc.constantFrom('ip', 'user'), fc.boolean()).map(([scope, shadow]) => penalty(options, scope, shadow)),
  )

/** One policy of that algorithm, or several of any, or two and a penalty. */
export function policiesOf(algorithm: keyof typeof algorithms | 'several' | 'punished'): fc.Arbitrary<Policy[]> {
  if (algorithm === 'punished') return fc.tuple(algorithms.bucket('p0'), algorithms.clockWindow('p1'), punishment)
  if (algorithm !== 'several') return algorithms[algorithm]('only').map((policy) => [policy])
  const any = (name: string) => fc.oneof(...Object.values(algorithms).map((build) => build(name)))
  return fc
    .integer({ min: 2, max: 4 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => any(`p${n}`))))
}

const verbs = [
  ...(['consume', 'consume', 'consume', 'reserve', 'reserve', 'settle', 'settle', 'renew'] as const),
  ...(['charge', 'refund', 'peek', 'reset'] as const),
]

const operation = fc.record({
  verb: fc.constantFrom(...verbs),
  ids: fc.tuple(fc.nat(1), fc.nat(1)),
  cost: fc.oneof({ weight: 4, arbitrary: fc.integer({ min: 1, max: 4 }) }, fc.integer({ min: 1, max: 30 })),
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
  details: fc.record({ at: fc.boolean(), nextAfter: fc.boolean() }),
  plan: fc.nat(2),
  /** Which of the open reservations is settled or renewed. */
  which: fc.nat(7),
  /** True for a cost of its own under each policy. */
  each: fc.nat(3).map((n) => n === 0),
})

export const scripts = fc.record({
  operations: fc.array(operation, { minLength: 1, maxLength: 24 }),
  start: fc.constantFrom<number[]>(2_000_000, 1_767_225_600_000_000),
  /** True if each call waits for the one before. Else calls are sent together. */
  awaited: fc.boolean(),
})

export type Script = typeof scripts extends fc.Arbitrary<infer T> ? T : never
type Result = Awaited<ReturnType<Ledger['decide'] | Ledger['reserve']>> | undefined

let runs = 0

/** Several plans with the same names and scopes, but other numbers and windows, of that algorithm or of any. */
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

/** A reservation that is not settled: its tickets on the reference, the memory store and the other store. */
interface OpenReservation {
  plan: number
  keys: string[]
  costs: number[]
  tickets: (Tickets | undefined)[]
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
  const ids = stores.map(() => new Map<string, number>())
  const reservations: OpenReservation[] = []
  const pending: Promise<void>[] = []

  async function sameStates(): Promise<void> {
    if (subject.states === undefined) return
    for (const scope of scopes) {
      for (const id of ['0', '1']) {
        const kept = (references[0] as ReferenceLedger).states(scope, id)
        const states = await subject.states(name, scope, id, [...kept.keys()])
        same(states, plainStates(kept), { scope, id, now })
      }
    }
  }

  for (const operation of script.operations) {
    const { verb, later, maxWait, details } = operation
    const known =
      verb === 'settle' || verb === 'renew' ? reservations[operation.which % reservations.length] : undefined
    if (known === undefined && (verb === 'settle' || verb === 'renew')) continue
    now = Math.max(0, now + later)
    const plan = known?.plan ?? operation.plan % all.length
    const { policies } = terms[plan] as LedgerTerms
    const keys = known?.keys ?? scopes.map((_, n) => `${operation.ids[n]}`)
    const costs = costsOf(operation, policies)
    const context = { verb, keys, costs, now, maxWait, plan, known }
    const ledgers = [references, ...stores].map((each) => each[plan] as Ledger)
    if (verb === 'reserve' || verb === 'renew') {
      const bookings = await Promise.all(
        ledgers.map((ledger, n) =>
          known === undefined
            ? ledger.reserve(keys, costs, maxWait)
            : ledger.reserve(keys, heldUnits(known, policies), 0, { renews: known.tickets[n] }),
        ),
      )
      const [expected] = bookings as [Booking]
      for (const [n, booking] of bookings.slice(1).entries()) {
        const named = (_: unknown, p: number) =>
          `${policies[p]?.name} ${keys[scopes.indexOf(policies[p]?.scope ?? '')]}`
        same(withIdsOf(expected, booking, ids[n] as Map<string, number>, named), expected, context)
      }
      const tickets = bookings.map((booking) => booking.tickets)
      if (expected.tickets === undefined) continue
      if (known !== undefined) known.tickets = tickets
      else reservations.push({ plan, keys, costs: policies.map((_, p) => unitsOf(costs, p)), tickets })
      continue
    }
    if (known !== undefined) reservations.splice(reservations.indexOf(known), 1)
    const played = (ledger: Ledger, n: number): Result | Promise<Result> => {
      if (verb === 'reset') return ledger.reset(keys) as Promise<undefined> | undefined
      if (known === undefined) return ledger.decide(verb as DecideVerb, keys, costs, details)
      return ledger.decide('settle', keys, corrections(known, costs), { tickets: known.tickets[n], ...details })
    }
    const [reference, ...others] = ledgers as [Ledger, Ledger, Ledger]
    const expected = played(reference, 0)
    for (const [n, ledger] of others.entries()) {
      const compared = Promise.resolve(played(ledger, n + 1)).then((result) => same(result, expected, context))
      compared.catch(() => {}) // awaited below, unless another difference comes first
      pending.push(compared)
    }
    if (script.awaited) {
      await Promise.all(pending.splice(0))
      await sameStates()
    }
  }
  await Promise.all(pending)
  await sameStates()
}

/** One cost for all policies, or one for each, some of them 0. */
function costsOf({ cost, each }: { cost: number; each: boolean }, policies: readonly Policy[]): Costs {
  return each ? policies.map(({ algorithm }, n) => (algorithm.punishes ? 1 : (cost + 3 * n) % 7)) : cost
}

function unitsOf(costs: Costs, n: number): number {
  return typeof costs === 'number' ? costs : (costs[n] as number)
}

/** What a renewal takes anew. */
function heldUnits({ costs }: OpenReservation, policies: readonly Policy[]): number[] {
  return policies.map(({ algorithm }, n) => (algorithm.leases ? (costs[n] as number) : 0))
}

/** From the reserved units to the actual ones. */
function corrections({ costs, tickets }: OpenReservation, actual: Costs): number[] {
  return costs.map((units, n) => (tickets[0]?.[n] === undefined ? 0 : unitsOf(actual, n) - units))
}

/**
 * The booking with the ids that the reference gave. Each store chooses its own, but for one state the same id must always
 * stand for the same id of the reference.
 */
function withIdsOf(
  expected: Booking,
  booking: Booking,
  ids: Map<string, number>,
  named: (ticket: unknown, n: number) => string,
): Booking {
  const tickets = booking.tickets?.map((ticket, n): Ticket | undefined => {
    if (ticket === undefined || ticket[1] === 0) return ticket
    const name = `${named(ticket, n)} ${ticket[1]}`
    const id = ids.get(name) ?? expected.tickets?.[n]?.[1] ?? 0
    ids.set(name, id)
    return [ticket[0], id, ticket[2]]
  })
  return { ...booking, tickets }
}

function ledgersOf(store: Store, [first, ...more]: readonly LedgerTerms[]): Ledger[] {
  const ledger = store.open(first as LedgerTerms)
  return [ledger, ...more.map((terms) => ledger.vary?.(terms) ?? store.open(terms))]
}

function same(actual: unknown, expected: unknown, context: object): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${JSON.stringify(context)}\n got ${show(actual)}\nwant ${show(expected)}`)
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === Infinity ? 'Infinity' : each))
}
