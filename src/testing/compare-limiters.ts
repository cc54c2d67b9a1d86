import type { Inspection } from '../inspection/index.ts'
import type { AnyCost, RateLimiter, Reservation, Units } from '../limiter/index.ts'
import { assertEqual } from './assert.ts'
import type { ManualClock } from './manual-clock.ts'
import { ifSupported } from './timeline.ts'

const steps = 400

/** The results of `inspect` are compared only at every fourth step, because `inspect` takes longer than a decision. */
const showsEvery = 4

/** How far the clock moves before a step, in ms: not at all, within a window, whole windows, far ahead, and back. */
const pauses = [
  0, 0, 0, 0.001, 0.7, 1, 33, 100, 142.857, 250, 500, 999, 1000, 1100, 2500, 5000, -0.001, -300, -900, -7000,
]

const verbs = [
  ...(['consume', 'consume', 'consume', 'consume', 'consume', 'peek', 'refund', 'charge'] as const),
  ...(['reserve', 'reserve', 'reserve', 'settle', 'settle', 'settle', 'release', 'renew', 'reset'] as const),
]

/**
 * The pauses without those that move the clock far back. After such a pause, a decision may depend on a state that one of
 * the two stores has already removed, because the key had its full quota.
 */
const shortPauses = pauses.filter((pause) => pause > -1000)

/** `ban` is picked less often than the other verbs, because a ban refuses most of the calls after it. */
const banVerbs = [...verbs, ...verbs, ...(['ban', 'unban', 'unban', 'unban'] as const)]
const banTimes = ['1ms', '100ms', '700ms', '1s', '2500ms', Infinity]

/** Indexes in the list of open reservations. A step picks an index, and settles (corrects) or renews the reservation there, if any. */
const places = [0, 1, 2, 3, 5]

type Pick = <T>(from: readonly T[]) => T

interface Open {
  readonly cost: AnyCost
  readonly actual: Reservation
  readonly expected: Reservation
}

/**
 * Makes the same calls of every verb on two limiters that share a clock, and asserts that both limiters return the same results. The calls
 * look random, but are the same in every run, so that a failure can be reproduced.
 * @param bans true if some of the calls ban keys
 */
export async function compareLimiters(
  clock: ManualClock,
  limiter: RateLimiter,
  reference: RateLimiter,
  bans = false,
): Promise<void> {
  const pick = picker()
  const takesLists = [limiter, reference].every(({ store }) => store.traits?.alternatives === true)
  const open: Open[] = []
  let history = ''
  for (let step = 0; step < steps; step++) {
    clock.set(clock.milliseconds + pick(bans ? shortPauses : pauses))
    const key = { user: pick(['u', 'v']), address: pick(['a', 'b']) }
    const units = pick([0, 0, 0, 1]) === 0 ? pick([1, 1, 1, 2, 3, 5, 8, 20]) : costs(limiter, pick)
    const verb = bans ? pick(banVerbs) : pick(verbs)
    const isListed =
      takesLists && (verb === 'consume' || verb === 'peek' || verb === 'reserve') && pick([0, 0, 0, 1]) === 1
    const cost = isListed ? [costs(limiter, pick), costs(limiter, pick)] : units
    const keys = limiter.scopes.length === 1 ? key.user : key
    history = `${history}\n${clock.milliseconds} ${verb} ${Object.values(key).join(' ')} ${JSON.stringify(cost)}`.slice(
      -1000,
    )
    const both = async <T>(call: (each: RateLimiter) => Promise<T>) => Promise.all([call(limiter), call(reference)])
    const same = ([actual, expected]: readonly unknown[]) =>
      assertEqual(actual, expected, `differs from the reference after:${history}`)

    if (verb === 'consume' || verb === 'peek' || verb === 'refund' || verb === 'charge') {
      same(await both((each) => each[verb](keys, { cost })))
    } else if (verb === 'reserve') {
      const maxWait = pick([0, 100, 3000])
      const [actual, expected] = await both((each) => each.reserve(keys, { cost, maxWait }))
      same([actual, expected].map(({ wait, decision }) => [wait, decision]))
      open.push({ cost, actual, expected })
    } else if (verb === 'settle') {
      for (const reservation of open.splice(pick(places), 1)) await settle(reservation, units)
    } else if (verb === 'release') {
      for (const { actual, expected } of open.splice(pick(places), 1)) {
        await Promise.all([actual.release(), expected.release()])
      }
    } else if (verb === 'renew') {
      const { actual, expected } = open[pick(places)] ?? {}
      same([await actual?.renew(), await expected?.renew()])
    } else if (verb === 'ban') {
      const time = pick(banTimes)
      const some = limiter.scopes.length === 1 ? key.user : pick([key, { user: key.user }, { address: key.address }])
      await both((each) => each.ban(some, time))
    } else {
      await both((each) => each[verb](keys))
    }
    same(await both((each) => each.peek(keys)))
    if (step % showsEvery > 0) continue
    const inspection = await ifSupported(limiter.inspect(keys))
    if (inspection !== undefined) same([lasting(inspection), lasting(await reference.inspect(keys))])
  }
}

/**
 * The parts of an inspection that are equal in all stores. States with their full quota and notes are left out. Open
 * reservations are left out because some stores write one key after the other: for a call on several keys, these stores
 * always make a reservation.
 */
function lasting({ policies, words, lastUsedAt: _, notes: __, ...inspection }: Inspection): object {
  const states = policies.map(({ reservations: _, ...policy }) => {
    const { name, used, remaining, resetAfter } = policy
    return resetAfter > 0 ? policy : { name, used, remaining }
  })
  return { ...inspection, words: inspection.refused ? words : undefined, policies: states }
}

/** A cost with a number for each policy. A number of 0 takes no units from its policy. */
function costs({ policies }: RateLimiter, pick: Pick): Readonly<Record<string, number>> {
  const named = policies.filter(({ algorithm }) => !algorithm.punishes)
  return Object.fromEntries(named.map(({ name }) => [name, pick([0, 1, 1, 2, 5])]))
}

/**
 * Settles the reservations of both limiters. A reservation whose cost is an object can only be settled with an object or with 0. So if
 * `units` is a number, both such reservations are settled with 0.
 */
async function settle({ cost, actual, expected }: Open, units: Units): Promise<void> {
  const used = typeof units === 'number' ? (typeof cost === 'number' ? units - 1 : 0) : units
  await Promise.all([actual.settle(used), expected.settle(used)])
}

/** Returns a function that picks an element of a list, by the Park-Miller generator with a fixed seed. */
function picker(): Pick {
  let seed = 2026
  return (from) => {
    seed = (seed * 48_271) % 2_147_483_647
    return from[Math.floor((seed / 2_147_483_647) * from.length)] as (typeof from)[number]
  }
}
