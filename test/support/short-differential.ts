/*
 * Random calls for the script of a plan (src/stores/redis/script/short/), with the TypeScript step beside it: equal decisions,
 * and the same bytes in Redis. Nearly all calls are `consume`. Costs and times are chosen by the state of a key, such that they
 * meet the edges: the last unit, the end of a wait or a window, the full quota, a clock that goes back by its tolerance.
 */
import { isDeepStrictEqual } from 'node:util'
import type { Redis } from 'ioredis'
import { describe, test } from 'vitest'
import { type Algorithm, Report } from '../../src/algorithms/algorithm.ts'
import { Penalty } from '../../src/algorithms/bans/penalty.ts'
import { effectiveTime } from '../../src/algorithms/evaluation/evaluation.ts'
import { timeOf } from '../../src/algorithms/logs/log-entries.ts'
import { counter, fixedWindow, gcra, type Policy, slidingLog, slidingWindow, tokenBucket } from '../../src/index.ts'
import type { Booking, Ledger } from '../../src/store.ts'
import type { RedisClient } from '../../src/stores/redis/client/redis-client.ts'
import { encodeId, keyStart } from '../../src/stores/redis/keys.ts'
import { RedisStore, type Scripts } from '../../src/stores/redis/redis-store.ts'
import { punishment } from './differential.ts'
import { evenCalendarWindow, windowsAt } from './even-calendar.ts'
import fc from './fast-check.ts'
import { ReferenceStore } from './reference-store.ts'
import { plainStates, unpackStates } from './states.ts'

const prefix = 'plain'
const scope = 'default'
const ids = ['0', '1', '2'] as const
const day = 24 * 60 * 60 * 1000
/** Microseconds. Waits may be as long as centuries. */
const latest = 4e15

interface Numbers {
  readonly limit: number
  readonly window: string
  readonly burst: number
  readonly countRefused: boolean
}

/** A policy of each kind that a short script has. */
const kinds = {
  bucket: (numbers: Numbers, name: string) => gcra({ ...numbers, name }),
  interval: (numbers: Numbers, name: string) => tokenBucket({ ...numbers, name, refill: 'interval' }),
  clockWindow: ({ burst, ...numbers }: Numbers, name: string) => fixedWindow({ ...numbers, name }),
  firstRequest: ({ burst, ...numbers }: Numbers, name: string) =>
    fixedWindow({ ...numbers, name, align: 'first-request' }),
  slidingWindow: ({ burst, ...numbers }: Numbers, name: string) => slidingWindow({ ...numbers, name }),
  counter: ({ window }: Numbers, name: string) => counter({ window, name }),
  calendarWindow: ({ burst, ...numbers }: Numbers, name: string) => evenCalendarWindow({ ...numbers, name }),
  thresholds: ({ burst, ...numbers }: Numbers, name: string) => evenCalendarWindow({ ...numbers, name }, 1, [0.5, 1]),
  // A larger log, or one that counts refusals, has no short script.
  slidingLog: ({ limit, window }: Numbers, name: string) =>
    slidingLog({ limit: Math.min(limit, 2 ** 24 - 1), window, name }),
} as const

export type ShortKind = keyof typeof kinds

const all = Object.keys(kinds) as ShortKind[]
/** Only the first policy of a short script may be a log. */
const fixed = all.filter((kind) => kind !== 'slidingLog')

const limit = fc.oneof(
  { weight: 6, arbitrary: fc.integer({ min: 1, max: 6 }) },
  { weight: 2, arbitrary: fc.integer({ min: 1, max: 5000 }) },
  { weight: 1, arbitrary: fc.constantFrom(2 ** 32, 2 ** 45 - 1, 2 ** 45) },
)

const window = fc
  .oneof(
    { weight: 3, arbitrary: fc.constantFrom(1, 2, 7, 10, 1000) },
    { weight: 3, arbitrary: fc.integer({ min: 1, max: 700 }) },
    { weight: 1, arbitrary: fc.constantFrom(60_000, 61_000, 366 * day - 1, 366 * day) },
  )
  .map((milliseconds) => `${milliseconds}ms`)

const burst = fc.oneof(fc.integer({ min: 1, max: 9 }), fc.integer({ min: 1, max: 90 }))

const numbers: fc.Arbitrary<Numbers> = fc.record({ limit, window, burst, countRefused: fc.nat(2).map((n) => n === 0) })

function policyOf(of: readonly ShortKind[], name: string): fc.Arbitrary<Policy> {
  return fc.tuple(fc.constantFrom(...of), numbers).map(([kind, each]) => {
    try {
      return kinds[kind](each, name)
    } catch {
      return kinds[kind]({ ...each, limit: 5, burst: 3 }, name) // these could not be exact
    }
  })
}

/** Policies, and those of another plan with the same names. */
export type ShortPlans = readonly [policies: readonly Policy[], others: readonly Policy[]]

/** One policy of these kinds, or several of any, or some of any with a penalty for their refusals. */
export type ShortPlan = readonly ShortKind[] | 'several' | 'punished'

const counts = { several: [2, 2, 3, 4], punished: [1, 1, 1, 2, 3] } as const

export function shortPlans(of: ShortPlan): fc.Arbitrary<ShortPlans> {
  const kinds = typeof of === 'string' ? all : of
  return fc.constantFrom<number[]>(...(typeof of === 'string' ? counts[of] : [1])).chain((count) => {
    const policies = fc.tuple(...Array.from({ length: count }, (_, n) => policyOf(n === 0 ? kinds : fixed, `p${n}`)))
    const penalty =
      of === 'punished' ? punishment.map((policy) => [{ ...policy, scope, shadow: false }]) : fc.constant([])
    const plan = fc.tuple(policies, penalty).map(([some, more]): Policy[] => [...some, ...more])
    return fc.tuple(plan, plan)
  })
}

/** To the edge of what it names, and so many microseconds beyond it. */
const by = fc.constantFrom(-1, 0, 0, 1)

const later = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ to: 'now', by: 0 } as const) },
  { weight: 2, arbitrary: fc.integer({ min: -2500, max: 5000 }).map((us) => ({ to: 'now', by: us }) as const) },
  { weight: 5, arbitrary: fc.record({ to: fc.constantFrom('wait', 'reset', 'window', 'part'), by }) },
  {
    weight: 3,
    arbitrary: fc.record({ to: fc.constantFrom('wait', 'reset', 'window', 'fraction'), by: fc.nat(999_999) }),
  },
  { weight: 2, arbitrary: fc.record({ to: fc.constantFrom('last', 'tolerance'), by }) },
)

const cost = fc.oneof(
  { weight: 5, arbitrary: fc.record({ of: fc.constant('none' as const), by: fc.integer({ min: 1, max: 3 }) }) },
  { weight: 4, arbitrary: fc.record({ of: fc.constant('remaining' as const), by: fc.constantFrom(-1, 0, 0, 1) }) },
  { weight: 2, arbitrary: fc.record({ of: fc.constant('burst' as const), by: fc.constantFrom(-1, 0, 1) }) },
  { weight: 1, arbitrary: fc.record({ of: fc.constantFrom('none', 'most'), by: fc.constant(0) }) },
)

const turn = fc.record({
  later,
  /** The key and the policy whose state the time and the cost go by. */
  key: fc.nat(2),
  policy: fc.nat(3),
  cost,
  /** The calls of one turn of the event loop, by their keys. */
  calls: fc.array(fc.nat(2), { minLength: 1, maxLength: 5 }),
  details: fc.record({ at: fc.boolean(), nextAfter: fc.nat(3).map((n) => n === 0) }),
  /** A call before them that the whole script decides. */
  other: fc.option(
    fc.record({
      verb: fc.constantFrom('charge', 'charge', 'refund', 'peek', 'reset', 'reserve', 'settle', 'ban', 'other plan'),
      key: fc.nat(2),
      cost,
      /** True if it comes in the same turn. */
      together: fc.boolean(),
    }),
    { nil: undefined, freq: 3 },
  ),
})

export const shortScripts = fc.record({
  turns: fc.array(turn, { minLength: 1, maxLength: 40, size: 'max' }),
  start: fc.constantFrom<number[]>(0, 5_000_000, 1_767_225_600_000_000, 1_767_225_600_123_457),
  refusalCache: fc.nat(3).map((n) => n === 0),
})

export type ShortScript = typeof shortScripts extends fc.Arbitrary<infer T> ? T : never
type Turn = ShortScript['turns'][number]
type Other = NonNullable<Turn['other']>

/** Calls 100 ms apart, then one when the entry in the middle of their log leaves it: few random scripts fill a log and come to that moment. */
export const logTimelines: readonly [ShortPlans, ShortScript][] = [5, 6].map((entries) => {
  const plan = [slidingLog({ name: 'p0', limit: 9, window: '1s' })]
  const turn = (later: Turn['later']): Turn => ({
    ...{ later, key: 0, policy: 0, cost: { of: 'none', by: 1 }, calls: [0] },
    ...{ details: { at: false, nextAfter: false }, other: undefined },
  })
  const turns = [
    ...Array.from({ length: entries }, () => turn({ to: 'now', by: 100_000 })),
    turn({ to: 'part', by: 0 }),
  ]
  return [[plan, plan], { turns, start: 5_000_000, refusalCache: false }]
})

/** @param numRuns random scripts for each kind of policies @param other a second client, for some of the scripts */
export function describeShortDifferential(client: Redis, numRuns: number, other?: RedisClient): void {
  describe('the script of a plan decides as the TypeScript step does, and writes the same bytes', () => {
    test.each<ShortPlan>([...all.map((kind) => [kind]), 'several', 'punished'])(
      '%s',
      (of) =>
        fc.assert(
          fc.asyncProperty(shortPlans(of), shortScripts, (plans, script) =>
            compareShort(client, plans, script, undefined, runs % 4 === 0 ? other : client),
          ),
          { numRuns: of === 'punished' ? 4 * numRuns : of === 'several' ? 2 * numRuns : numRuns },
        ),
      300_000,
    )
  })
}

/** When an entry in the middle of a log leaves it, or a count of refusals ends. */
function partEnd(algorithm: Algorithm, s: readonly number[]): number | undefined {
  const [first, end] = s.slice(1) as [number, number]
  if (algorithm instanceof Penalty) return first + algorithm.within
  return algorithm.grows && first < end
    ? timeOf(s as number[], 0, Math.floor((first + end) / 2)) + algorithm.span
    : undefined
}

let runs = 0

/**
 * Plays a script on a Redis store and on the reference, and throws at the first difference.
 * @param of the client of the store
 */
export async function compareShort(
  client: Redis,
  [policies, otherPolicies]: ShortPlans,
  { turns, start, refusalCache }: ShortScript,
  scripts?: Scripts,
  of: RedisClient = client,
): Promise<void> {
  if (runs++ % 100 === 99) await client.script('FLUSH') // each plan leaves a script
  const name = `${process.pid}-${runs}`
  let now = start
  const clock = () => now
  const terms = { name, policies, scopes: [scope] }
  const reference = new ReferenceStore(clock).open(terms)
  const options = { client: of, clock, refusalCache, ttlMargin: '1d', timeout: '20s', prefix }
  const store = new RedisStore(options, scripts)
  const ledger = placed(store.open(terms), policies)
  // The same calls, decided by the whole script.
  const wholeStore = new RedisStore(options, scripts)
  const wholeTerms = { ...terms, name: `${name}-whole` }
  const whole = placed(wholeStore.open(wholeTerms), policies)
  const step = placed(reference, policies)
  const others = [
    reference.joined({ ...terms, policies: otherPolicies }),
    store.open({ ...terms, policies: otherPolicies }),
    wholeStore.open({ ...wholeTerms, policies: otherPolicies }),
  ].map((each) => placed(each, otherPolicies))
  const reserved: { readonly key: string; readonly costs: number; readonly bookings: readonly Booking[] }[] = []
  const { random } = Math
  let granted = 0
  Math.random = () => granted / 2 ** 48 // the ids of the reference: 1, 2, 3 ...

  /** Gives each command the windows of its key. Some keys have windows of their own. */
  function placed(ledger: Ledger, own: readonly Policy[]): Ledger {
    return {
      run(command) {
        const shift = command.keys[0] === '2' ? 1_234_567 : 0
        return ledger.run({ ...command, windows: windowsAt(own, now, shift) })
      },
    }
  }

  /** A policy with its state of a key. Another plan may have left the state, under numbers of its own. */
  function stateOf({ key, policy }: Pick<Turn, 'key' | 'policy'>): [Policy, number[]] {
    const own = policies[policy % policies.length] as Policy
    const kept = [...reference.states(scope, ids[key] as string)].find(([{ name }]) => name === own.name)
    return kept ?? [own, new Array(own.algorithm.slots).fill(0)]
  }

  function timeOfTurn(turn: Turn): number {
    const { to, by } = turn.later
    const [{ algorithm, window }, s] = stateOf(turn)
    const last = s[0] as number
    const at = effectiveTime(algorithm, last, now)
    const report = new Report()
    algorithm.report(s, 0, at, report)
    const wait = algorithm.wait(s, 0, at, report.remaining + 1)
    const edges = {
      now,
      wait: at + (Number.isFinite(wait) ? wait : 0),
      reset: at + report.reset,
      part: partEnd(algorithm, s) ?? now,
      window: now - (now % (window * 1000)) + window * 1000,
      fraction: now + Math.floor((window * by) / 1000) - by,
      last,
      tolerance: last - algorithm.tolerance,
    }
    return Math.min(latest, Math.max(0, edges[to] + by))
  }

  function costOf(place: Pick<Turn, 'key' | 'policy'>, { of, by }: Turn['cost']): number {
    const [{ algorithm, burst }, s] = stateOf(place)
    const report = new Report()
    algorithm.report(s, 0, effectiveTime(algorithm, s[0] as number, now), report)
    const most = Number.MAX_SAFE_INTEGER
    const units = { none: 0, remaining: report.remaining, burst, most }
    return Math.min(most, Math.max(0, units[of] + by))
  }

  async function play(turn: Turn): Promise<void> {
    now = timeOfTurn(turn)
    const { key, policy, details, calls, other } = turn
    const units = costOf({ key, policy }, turn.cost)
    const before = other && playOther(other, costOf({ key: other.key, policy }, other.cost))
    if (!other?.together) await before
    const peeked = whole.run({ verb: 'peek', keys: ['other'] }) // what follows in this turn goes with it
    const decided = calls.map((call) => {
      const keys = [ids[call] as string]
      const context = { now, keys, cost: units, details }
      const expected = step.run({ verb: 'consume', keys, costs: units, details })
      return Promise.all(
        [ledger, whole].map((each) => each.run({ verb: 'consume', keys, costs: units, details })),
      ).then((actual) => {
        for (const each of actual) same(each, expected, context)
      })
    })
    await Promise.all([before, peeked, ...decided])
    await sameValues()
    if (other?.verb !== 'ban') return
    for (const each of [step, ledger, whole]) await each.run({ verb: 'unban', keys: [ids[other.key] as string] })
  }

  async function playOther({ verb, key }: Other, units: number): Promise<void> {
    const id = ids[key] as string
    const keys = [id]
    const ledgers: readonly Ledger[] = [step, ledger, whole]
    const context = { now, verb, keys, cost: units }
    if (verb === 'reserve') {
      const bookings = await Promise.all(ledgers.map((each) => each.run({ verb: 'reserve', keys, costs: units })))
      for (const { decision } of bookings) same(decision, bookings[0]?.decision, context)
      if (bookings[0]?.tickets === undefined) return
      granted++
      reserved.push({ key: id, costs: units, bookings })
      return
    }
    // A refusal that is repeated locally tells the units of a debt as they were.
    if (verb === 'charge' && refusalCache) return
    const old = verb === 'settle' ? reserved.pop() : undefined
    if (verb === 'settle' && old === undefined) return
    const results = (verb === 'other plan' ? others : ledgers).map((each, n): unknown => {
      if (verb === 'other plan') return each.run({ verb: 'consume', keys, costs: units })
      if (verb === 'ban') return each.run({ verb: 'ban', keys, ban: { duration: Infinity } })
      if (verb === 'reset') return each.run({ verb, keys })
      if (old === undefined) return each.run({ verb, keys, costs: units })
      const actual = policies.map(() => (units % (old.costs + 1)) - old.costs)
      return each.run({ verb: 'settle', keys: [old.key], costs: actual, tickets: old.bookings[n]?.tickets })
    })
    const [expected, ...actual] = await Promise.all(results)
    for (const each of actual) same(each, expected, context)
  }

  /** The same states in Redis, in the same bytes. */
  async function sameValues(): Promise<void> {
    const names = [name, wholeTerms.name]
    const keys = names.flatMap((each) => ids.map((id) => `${keyStart(prefix, each, scope)}${encodeId(id)}}`))
    const values = await client.mgetBuffer(keys)
    for (const [n, id] of ids.entries()) {
      const value = values[n] as Buffer | null
      const kept = reference.states(scope, id)
      same(unpackStates(value, [...kept.keys()]), plainStates(kept), { id, now })
      same(writtenRecords(value), writtenRecords(values[n + ids.length] as Buffer | null), { id, now })
    }
  }

  try {
    for (const each of turns) await play(each)
  } finally {
    Math.random = random
  }
}

/** The records of a value, as text. One of zeros is the same as none: the state of a new key. */
function writtenRecords(value: Buffer | null): readonly string[] {
  return recordsOf(value ?? Buffer.alloc(0))
    .filter(({ state }) => state.some((byte) => byte !== 0))
    .map(({ head, state }) => `${head.toString('hex')} ${state.toString('hex')}`)
}

/** Each record begins with its size, or with that of a long one behind its head (see lua/records.ts). */
function recordsOf(value: Buffer): readonly { readonly head: Buffer; readonly state: Buffer }[] {
  if (value.length === 0) return []
  const form = value.readUInt8(0)
  const end = 6 + value.readUInt8(1)
  const start = form < 254 ? end : end + 4
  const next = start + (form < 254 ? form : value.readUInt32LE(end))
  return [{ head: value.subarray(0, start), state: value.subarray(start, next) }, ...recordsOf(value.subarray(next))]
}

function same(actual: unknown, expected: unknown, context: object): void {
  if (isDeepStrictEqual(actual, expected)) return
  throw new Error(`${JSON.stringify(context)}\n got ${show(actual)}\nwant ${show(expected)}`)
}

function show(value: unknown): string {
  return JSON.stringify(value, (_, each) => (each === Infinity ? 'Infinity' : each))
}
