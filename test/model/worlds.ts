/* Random plans of one limiter, and random calls on one key of it. A failing script prints as a program. */
import {
  concurrency,
  fixedWindow,
  gcra,
  type PenaltyOptions,
  type Policy,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import type { Random } from '../support/seeded-random.ts'

/** What a policy was made with. The name of its constructor is `make`. */
export interface Numbers {
  readonly make: keyof typeof makers
  readonly name: string
  readonly limit: number
  /** Milliseconds. */
  readonly window: number
  readonly burst: number
  readonly segments: number
  readonly countRefused: boolean
}

type Options = Pick<Numbers, 'name' | 'limit'> & { window: `${number}ms`; countRefused?: true }

/** The options of each constructor, and the constructor. */
const makers = {
  bucket: [(own: Options, n: Numbers) => ({ ...own, burst: n.burst }), gcra],
  interval: [(own: Options, n: Numbers) => ({ ...own, burst: n.burst, refill: 'interval' as const }), tokenBucket],
  clockWindow: [(own: Options) => own, fixedWindow],
  ownWindow: [(own: Options) => ({ ...own, align: 'first-request' as const }), fixedWindow],
  slidingWindow: [(own: Options) => own, slidingWindow],
  segmentedWindow: [(own: Options, n: Numbers) => ({ ...own, segments: n.segments }), segmentedWindow],
  slidingLog: [(own: Options) => own, slidingLog],
  concurrency: [({ name, limit, window }: Options) => ({ name, limit, lease: window }), concurrency],
} as const

type Make = keyof typeof makers
const makes = Object.keys(makers) as Make[]

function optionsOf(numbers: Numbers): object {
  const { make, name, limit, countRefused } = numbers
  const [options] = makers[make]
  const window = inText(numbers.window)
  return options({ name, limit, window, ...(countRefused && make !== 'concurrency' && { countRefused }) }, numbers)
}

/** As text: small numbers would warn. */
export const inText = (milliseconds: number): `${number}ms` => `${milliseconds}ms`

export function policyOf(numbers: Numbers): Policy {
  return (makers[numbers.make][1] as (options: object) => Policy)(optionsOf(numbers))
}

export interface Plan {
  readonly policies: readonly Numbers[]
  readonly penalty?: PenaltyOptions
}

export interface World {
  /** What its plans have in common, so that laws know what they may ask. */
  readonly family: Family
  readonly onChange: 'keep' | 'scale'
  readonly plans: readonly Plan[]
}

/** `alike`: plans differ in their limits alone. `hard`: any logs and segments. `buckets`: any buckets. `any`: anything. */
type Family = 'alike' | 'hard' | 'buckets' | 'any'

/** The largest cost that a plan could ever admit. */
export const capacityOf = ({ policies }: Plan): number => Math.min(...policies.map(burstOf))

/** The largest cost that a policy could ever admit. */
export function burstOf({ make, limit, burst }: Numbers): number {
  return limit > 0 && fills({ make }) ? burst : limit
}

/** True if the policy holds a burst. */
const fills = ({ make }: Pick<Numbers, 'make'>) => make === 'bucket' || make === 'interval'

/** A family of worlds, and the algorithm of plans that are alike. */
export interface WorldKind {
  readonly name: string
  readonly family: Family
  readonly make?: Make
}

export const worldKinds: readonly WorldKind[] = [
  ...makes.map((make) => ({ name: make, family: 'alike' as const, make })),
  { name: 'logs and segments', family: 'hard' },
  { name: 'buckets of all rates', family: 'buckets' },
  { name: 'any algorithms', family: 'any' },
]

const pick = <Item>(random: Random, items: readonly Item[]) => items[random(items.length)] as Item

export function randomWorld(random: Random, { family, make }: WorldKind): World {
  const names = random(3) === 0 ? ['p', 'q'] : ['p']
  const base = pick(random, [10, 1000, 9973, 60_000])
  const onChange = random(2) === 0 ? 'scale' : 'keep'
  const scales = onChange === 'scale'
  const columns = names.map((name) => column(random, family, scales, name, base, makesOf(family, make)))
  const punished = family === 'any' || family === 'alike' ? random(4) === 0 : false
  const count = 2 + random(2)
  const plans = Array.from({ length: count }, (_, n) => {
    const policies = columns.map((numbers) => numbers[n] as Numbers)
    const spends = policies.some(({ make }) => make !== 'concurrency')
    return { policies, ...(punished && random(5) > 0 && { penalty: randomPenalty(random, base, spends) }) }
  })
  return { family, onChange, plans }
}

const makesOf = (family: Family, make: Make | undefined): readonly Make[] =>
  make
    ? [make]
    : (({ hard: ['slidingLog', 'segmentedWindow'], buckets: ['bucket'] } as Record<string, Make[]>)[family] ?? makes)

/** One policy under three plans. */
function column(
  random: Random,
  family: Family,
  scales: boolean,
  name: string,
  base: number,
  any: readonly Make[],
): Numbers[] {
  const first = numbersOf(random, pick(random, any), name, base)
  const next = () => {
    const limit = limitOf(random)
    const times = 1 + random(3)
    // Where a part of the quota is kept, buckets that are alike give the same part back in the same time.
    if (family === 'alike' && scales && fills(first))
      return { ...first, limit: first.limit * times, burst: first.burst * times }
    if (family === 'alike') return { ...first, limit, burst: limitOf(random) }
    return { ...numbersOf(random, pick(random, any), name, base), countRefused: first.countRefused }
  }
  return [first, next(), next()]
}

function limitOf(random: Random): number {
  return 1 + random(pick(random, [5, 5, 12, 12, 100]))
}

function numbersOf(random: Random, make: Make, name: string, base: number): Numbers {
  const limit = limitOf(random)
  return {
    make,
    name,
    limit,
    window: base * pick(random, [1, 1, 2, 3, 10]),
    burst: random(2) === 0 ? limit : limitOf(random),
    segments: 1 + random(7),
    countRefused: random(8) === 0,
  }
}

/** @param spends true if a policy of the plan can be spent */
function randomPenalty(random: Random, base: number, spends: boolean): PenaltyOptions {
  const span = () => inText(base * pick(random, [1, 2, 3, 10, 30]))
  const counted = { after: 1 + random(3), within: span() }
  if (random(4) === 0) return { ...counted, until: 'window' }
  return {
    ...(random(3) === 0 && spends ? { on: 'spent' } : counted),
    ban: random(2) === 0 ? span() : [span(), span()],
    ...(random(3) === 0 && { forget: span() }),
    ...(random(4) === 0 && { extend: true }),
    ...(random(6) === 0 && { restart: true }),
  }
}

type Verb = 'consume' | 'peek' | 'reserve' | 'settle' | 'refund' | 'charge' | 'reset' | 'ban' | 'unban'

/** A call at a time. */
export interface Step {
  /** Microseconds. */
  readonly at: number
  readonly verb: Verb
  readonly plan: number
  /** Units. In a settlement, the actual units. */
  readonly cost: number
  /** Which of the open reservations is settled, from the newest. */
  readonly which: number
  /** Milliseconds: of a ban, or the longest wait for a reserved time. */
  readonly duration: number
}

/** The times of the last decision, which the next step may wait for. */
export interface Waits {
  readonly retryAfter: number
  readonly resetAfter: number
}

const verbs: readonly Verb[] = [
  ...(['consume', 'consume', 'consume', 'consume', 'consume', 'consume', 'consume', 'peek', 'peek'] as const),
  ...(['reserve', 'reserve', 'reserve', 'settle', 'settle', 'settle', 'refund', 'refund', 'charge'] as const),
]

/**
 * @param before the steps before
 * @param now the time of the last of them
 */
export function randomStep(random: Random, world: World, before: readonly Step[], now: number, last: Waits): Step {
  const plan = random(world.plans.length)
  const { policies } = world.plans[plan] as Plan
  const window = pick(random, policies).window
  const capacity = Math.max(1, capacityOf(world.plans[plan] as Plan))
  const cancels = before.at(-1)?.verb === 'reserve' && random(3) === 0
  if (cancels) return { at: now, verb: 'settle', plan, cost: 0, which: 0, duration: 0 }
  const operator = random(25) === 0
  const verb = operator ? pick(random, ['reset', 'ban', 'unban'] as const) : pick(random, verbs)
  return {
    at: timeAfter(random, window * 1000, before, now, last),
    verb,
    plan,
    cost:
      verb === 'settle'
        ? random(random(2) * (capacity + 1) + 1)
        : random(3) > 0
          ? 1 + random(capacity)
          : random(3) === 0
            ? capacity + 1
            : 1,
    which: random(8),
    duration: verb === 'ban' ? window * (1 + random(3)) : verb === 'reserve' && random(4) === 0 ? 2 * window : 0,
  }
}

function timeAfter(random: Random, window: number, before: readonly Step[], now: number, last: Waits): number {
  const kind = random(14)
  if (kind < 5) return now
  if (kind === 5) return now + pick(random, [1, 2, window])
  if (kind === 6 && Number.isFinite(last.retryAfter)) return now + last.retryAfter * 1000
  if (kind === 7 && Number.isFinite(last.resetAfter) && random(2) === 0) return now + last.resetAfter * 1000
  // About when the units of an earlier step leave.
  if (kind < 10 && before.length > 0)
    return Math.max(
      now,
      pick(random, before).at + window + random(Math.ceil(window / 2 ** random(6))) - random(Math.ceil(window / 32)),
    )
  return now + random(kind < 13 ? Math.ceil(window / 3) : window)
}

/** The script as a program, for a message. */
export function programOf({ onChange, plans }: World, steps: readonly Step[], start: number): string {
  const lines = plans.map(({ policies, penalty }, n) => {
    const all = policies.map((numbers) => `${makers[numbers.make][1].name}(${JSON.stringify(optionsOf(numbers))})`)
    return `plan ${n}: ${all.join(', ')}${penalty ? `, penalty ${JSON.stringify(penalty)}` : ''}`
  })
  const calls = steps.map(({ at, verb, plan, cost, which, duration }) => {
    const more = verb === 'settle' ? ` of reservation ${which}` : duration > 0 ? ` (${duration} ms)` : ''
    return `${((at - start) / 1000).toFixed(3)} ms: plan ${plan} ${verb} ${cost}${more}`
  })
  return [`onChange '${onChange}', times since ${start} us`, ...lines, ...calls].join('\n')
}
