import type { ForeignState } from '../algorithms/evaluation/index.ts'
import {
  are,
  type Description,
  effectiveTime,
  type Facts,
  hasFullQuota,
  type InspectedNumbers,
  type Policy,
  Report,
  timeText,
  type UnitsAt,
  units,
  withLag,
} from '../algorithms/index.ts'

/** Units that become free, or begin to count, at a later time. */
export interface TimedUnits {
  readonly units: number
  /** When the units become free or begin to count: milliseconds from now, rounded up. */
  readonly after: number
}

/** The state of a key under one policy. Durations are milliseconds, rounded up; times are milliseconds since the epoch. */
export interface PolicyInspection {
  /** The policy's name. If the store has only the hash of a name, and the limiter has no policy with this hash: `#` and the hash. */
  readonly name: string
  /** The kind of the algorithm. Token bucket, leaky bucket and GCRA all have the kind `'bucket'`. */
  readonly kind: string
  readonly limit: number
  readonly window: number
  readonly burst: number
  readonly shadow: boolean
  /** The units that are used now, like `used` in a decision. Under a penalty (bans after refusals): the refusals that are counted now. */
  readonly used: number
  /** The largest cost that would be admitted now. */
  readonly remaining: number
  /** Milliseconds until a call of cost 1 is admitted. 0: the call is admitted now. Infinity: never. */
  readonly retryAfter: number
  /** Milliseconds until the key has its full quota again, if no more calls come. */
  readonly resetAfter: number
  /** Only under `calendarWindow`: when the running window ends. Absent if nothing is used. */
  readonly resetAt?: number
  /** How many units `charge` has used beyond the limit. These units must become free before any call is admitted. */
  readonly debt: number
  /** Only under `concurrency`: the units in flight (of unfinished calls), and when the lease of each unit ends. */
  readonly inFlight?: readonly TimedUnits[]
  /** Units that are reserved for a time in the future. `used` includes these units. */
  readonly booked: readonly TimedUnits[]
  /** Units of open reservations with `onExpiry: 'give-back'`, which come back when the reservation expires. */
  readonly expiring: readonly TimedUnits[]
  /** True if some reservations may not be settled (corrected to the actual cost) yet. A store has no list of such reservations. */
  readonly reservations: boolean
  /** When a call last wrote the state; undefined if the key has no state under this policy. */
  readonly lastUsedAt: number | undefined
  /** True if the state was written under another limit or window. The state is shown converted to the present limit and window. */
  readonly carried: boolean
  /** The state in words: `'7 of 10 units are used; one comes back every 100 ms, the next in 40 ms.'` */
  readonly words: string
  /** The numbers of the algorithm, such as `level`, or `windowStart` and `current`; see docs/limiter.md. */
  readonly numbers: InspectedNumbers
}

/** The members of a policy that an inspection reads. */
export type InspectedPolicy = Pick<Policy, 'name' | 'limit' | 'window' | 'burst' | 'shadow' | 'algorithm'>

const report = new Report()

/**
 * Describes a state under a policy.
 * @param state an array that starts with the numbers of the state; all zeros for a key without a state
 * @param now the time in microseconds
 */
export function inspectPolicy(
  policy: InspectedPolicy,
  state: readonly number[],
  now: number,
  foreign: ForeignState | undefined,
): PolicyInspection {
  const { algorithm, name, limit, window, burst, shadow } = policy
  // A store may or may not have removed a key that has its full quota, so such a key is always shown as a new key.
  const isNew = state.every((number) => number === 0) || hasFullQuota(state.slice(), 0, algorithm, now)
  const s = isNew ? new Array<number>(algorithm.slots).fill(0) : state.slice()
  const at = effectiveTime(algorithm, s[0] as number, now)
  const lag = at - now
  if (!isNew) algorithm.take(s, 0, at, 0, 0) // a cost of 0 changes the state to what it is at the time `at`
  algorithm.report(s, 0, at, report)
  const { used, remaining } = report
  const ownReset = report.reset === 0 ? 0 : report.reset + lag
  const reset = foreign === undefined ? ownReset : foreign.reset(ownReset)
  const waitFor = (cost: number) => {
    const wait = withLag(algorithm.wait(s, 0, at, cost), lag)
    return foreign === undefined || wait === 0 ? wait : foreign.wait(cost, wait)
  }
  const retry = waitFor(1)
  const next = remaining >= burst ? 0 : waitFor(remaining + 1)
  const facts: Facts = { at, now, burst, used, retry, next, reset }
  const {
    words,
    numbers,
    debt = 0,
    inFlight,
    booked = [],
    expiring = [],
  } = burst === 0 ? none : algorithm.describe(s, facts)
  const later = (all: readonly UnitsAt[]) => all.map(({ units, time }) => ({ units, after: ceil(time - now) }))
  return {
    name,
    kind: algorithm.kind,
    limit,
    window,
    burst,
    shadow,
    used,
    remaining,
    retryAfter: ceil(retry),
    resetAfter: ceil(reset),
    ...(algorithm.place && reset > 0 && { resetAt: Math.floor(now / 1000) + ceil(reset) }),
    debt,
    ...(inFlight && { inFlight: later(inFlight) }),
    booked: later(booked),
    expiring: later(expiring),
    reservations: algorithm.idSlot !== undefined && (s[algorithm.idSlot] as number) > 0,
    lastUsedAt: isNew ? undefined : Math.floor((state[0] as number) / 1000),
    carried: foreign !== undefined,
    words: burst === 0 || algorithm.punishes ? `${words}.` : `${words}${laterWords(booked, retry)}.`,
    numbers,
  }
}

const none: Description = { words: 'The limit is 0, so no call is admitted', numbers: {} }

function laterWords(booked: readonly UnitsAt[], retry: number): string {
  const ahead = booked.reduce((sum, each) => sum + each.units, 0)
  const most = ahead > 0 ? `; ${units(ahead)} of these ${are(ahead)} booked ahead` : ''
  if (retry === Infinity) return `${most}; a call of one unit is never admitted`
  return retry > 0 ? `${most}; a call of one unit is refused for ${timeText(retry)} more` : most
}

/** Converts microseconds to milliseconds, rounded up to a whole number. */
function ceil(microseconds: number): number {
  return Math.ceil(microseconds / 1000)
}
