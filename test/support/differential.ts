/*
 * Random scripts, step by step on the reference, on the memory store and on another store: equal decisions, equal states.
 */
import { isDeepStrictEqual } from 'node:util'
import fc from 'fast-check'
import { penalty } from '../../src/algorithms/penalty.ts'
import {
  type Clock,
  fixedWindow,
  gcra,
  type Ledger,
  type LedgerTerms,
  memoryStore,
  type Policy,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import { ReferenceStore } from './reference-store.ts'
import { plainStates, type State } from './states.ts'

/** A store to be compared, on a server that many runs share. */
export interface Subject {
  open(terms: LedgerTerms, clock: Clock): Ledger
  /** What it keeps of a key, by policy name; left out where nobody can look. */
  states?(limiter: string, scope: string, id: string, own: readonly Policy[]): Promise<Record<string, State>>
}

/** Policies without a name and a scope of their own. */
export const algorithms = {
  bucket: policies(({ limit, window, burst, ...rest }) => gcra({ limit, window, burst, ...rest })),
  interval: policies((options) => tokenBucket({ ...options, refill: 'interval' })),
  clockWindow: policies(({ burst, ...options }) => fixedWindow(options)),
  firstRequest: policies(({ burst, ...options }) => fixedWindow({ ...options, align: 'first-request' })),
  slidingWindow: policies(({ burst, ...options }) => slidingWindow(options)),
  segmentedWindow: policies(({ burst, ...options }) => segmentedWindow({ ...options, segments: (burst % 5) + 1 })),
  slidingLog: policies(({ burst, ...options }) => slidingLog(options)),
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

/** Some rates are fractions, and some are so slow that a call of 4 is too large. */
function rateOf({ limit, window, burst }: Numbers): number {
  if (burst % 5 === 0 && burst < 20) return (window * 1000) / 1.2e15
  return burst % 2 === 0 ? limit : 0.3 * limit
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

const punishment = fc
  .record({
    after: fc.integer({ min: 1, max: 4 }),
    within: fc.integer({ min: 1, max: 500 }),
    block: fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 3 }),
    forget: fc.integer({ min: 1, max: 900 }),
  })
  .chain((options) =>
    fc.tuple(fc.constantFrom('ip', 'user'), fc.boolean()).map(([scope, shadow]) => penalty(options, scope, shadow)),
  )

/** One policy of that algorithm, or several of any; or two and a penalty. */
export function policiesOf(algorithm: keyof typeof algorithms | 'several' | 'punished'): fc.Arbitrary<Policy[]> {
  if (algorithm === 'punished') return fc.tuple(algorithms.bucket('p0'), algorithms.clockWindow('p1'), punishment)
  if (algorithm !== 'several') return algorithms[algorithm]('only').map((policy) => [policy])
  const any = (name: string) => fc.oneof(...Object.values(algorithms).map((build) => build(name)))
  return fc
    .integer({ min: 2, max: 4 })
    .chain((count) => fc.tuple(...Array.from({ length: count }, (_, n) => any(`p${n}`))))
}

const operation = fc.record({
  verb: fc.constantFrom('consume', 'consume', 'consume', 'reserve', 'settle', 'charge', 'refund', 'peek', 'reset'),
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
})

export const scripts = fc.record({
  operations: fc.array(operation, { minLength: 1, maxLength: 24 }),
  start: fc.constantFrom<number[]>(2_000_000, 1_767_225_600_000_000),
  /** Whether each answer is awaited before the next call; else calls travel together. */
  awaited: fc.boolean(),
})

type Script = typeof scripts extends fc.Arbitrary<infer T> ? T : never
type Answer = Awaited<ReturnType<Ledger['decide'] | Ledger['reserve']>> | undefined

let runs = 0

/** Plays a script on all three and throws at the first difference. */
export async function compare(subject: Subject, policies: readonly Policy[], script: Script): Promise<void> {
  let now = script.start
  const clock = () => now
  const scopes = [...new Set(policies.map(({ scope }) => scope))]
  const terms: LedgerTerms = { name: `${process.pid}-${runs++}`, policies, scopes }
  const reference = new ReferenceStore(clock).open(terms)
  const ledgers = [memoryStore({ clock }).open(terms), subject.open(terms, clock)]
  const reservations: { keys: string[]; cost: number; tickets: { tickets: never }[] }[] = []
  const pending: Promise<void>[] = []

  async function sameStates(): Promise<void> {
    if (subject.states === undefined) return
    for (const scope of scopes) {
      for (const id of ['0', '1']) {
        const own = policies.filter((policy) => policy.scope === scope)
        const states = await subject.states(terms.name, scope, id, own)
        same(states, plainStates(reference.states(scope, id)), { scope, id, now })
      }
    }
  }

  for (const { verb, ids, cost, later, maxWait, details } of script.operations) {
    now = Math.max(0, now + later)
    const keys = scopes.map((_, n) => `${ids[n]}`)
    const context = { verb, keys, cost, now, maxWait }
    if (verb === 'reserve') {
      const expected = reference.reserve(keys, cost, maxWait)
      const bookings = await Promise.all(ledgers.map((ledger) => ledger.reserve(keys, cost, maxWait)))
      for (const booking of bookings) same(booking, expected, context)
      if (expected.tickets) reservations.push({ keys, cost, tickets: bookings as never })
      continue
    }
    let played = (ledger: Ledger): Answer | Promise<Answer> => {
      if (verb === 'reset') return ledger.reset(keys) as Promise<undefined> | undefined
      return ledger.decide(verb === 'settle' ? 'refund' : verb, keys, cost, details)
    }
    if (verb === 'settle') {
      const reservation = reservations.pop()
      if (reservation === undefined) continue
      const { tickets } = reservation.tickets[0] as { tickets: never }
      played = (ledger) =>
        ledger.decide('refund', reservation.keys, Math.min(cost, reservation.cost), { tickets, ...details })
    }
    const expected = played(reference)
    for (const ledger of ledgers) {
      const compared = Promise.resolve(played(ledger)).then((answer) => same(answer, expected, context))
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

function same(actual: unknown, expected: unknown, context: object): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${JSON.stringify(context)}\n got ${show(actual)}\nwant ${show(expected)}`)
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === Infinity ? 'Infinity' : each))
}
