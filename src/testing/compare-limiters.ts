import type { RateLimiter } from '../limiter.ts'
import type { Reservation } from '../reservation.ts'
import { assertEqual } from './assert.ts'
import type { ManualClock } from './manual-clock.ts'

const steps = 400

/** How far the clock moves, in milliseconds: not at all, within a window, whole windows, far ahead, and back. */
const pauses = [
  0, 0, 0, 0.001, 0.7, 1, 33, 100, 142.857, 250, 500, 999, 1000, 1100, 2500, 5000, -0.001, -300, -900, -7000,
]

type Verb = 'consume' | 'peek' | 'refund' | 'charge' | 'reserve' | 'settle' | 'reset'

const verbs: readonly Verb[] = [
  ...(['consume', 'consume', 'consume', 'consume', 'consume', 'peek', 'refund'] as const),
  ...(['charge', 'reserve', 'reserve', 'settle', 'settle', 'reset'] as const),
]

/**
 * Runs one timeline of every verb on two limiters that share a clock, and asserts that both return the same. The timeline
 * looks random and is always the same, so that a failure can be reproduced.
 */
export async function compareLimiters(clock: ManualClock, limiter: RateLimiter, reference: RateLimiter): Promise<void> {
  const pick = picker()
  const open: [Reservation, Reservation][] = []
  let history = ''
  for (let step = 0; step < steps; step++) {
    clock.set(clock.milliseconds + pick(pauses))
    const key = { user: pick(['u', 'v']), address: pick(['a', 'b']) }
    const cost = pick([1, 1, 1, 2, 3, 5, 8, 20])
    const verb = pick(verbs)
    const keys = limiter.scopes.length === 1 ? key.user : key
    history = `${history}\n${clock.milliseconds} ${verb} ${Object.values(key).join(' ')} ${cost}`.slice(-1000)
    const same = (actual: unknown, expected: unknown) =>
      assertEqual(actual, expected, `differs from the reference after:${history}`)

    if (verb === 'consume' || verb === 'peek' || verb === 'refund' || verb === 'charge') {
      same(await limiter[verb](keys, { cost }), await reference[verb](keys, { cost }))
    } else if (verb === 'reserve') {
      const maxWait = pick([0, 100, 3000])
      const pair = [limiter, reference].map((each) => each.reserve(keys, { cost, maxWait }))
      const [actual, expected] = (await Promise.all(pair)) as [Reservation, Reservation]
      same([actual.wait, actual.decision], [expected.wait, expected.decision])
      open.push([actual, expected])
    } else if (verb === 'settle') {
      for (const each of open.splice(pick([0, 1]), 1).flat()) await each.settle(cost - 1)
    } else {
      await Promise.all([limiter.reset(keys), reference.reset(keys)])
    }
    same(await limiter.peek(keys), await reference.peek(keys))
  }
}

/** Picks from lists, by the Park-Miller generator with a fixed seed. */
function picker(): <T>(from: readonly T[]) => T {
  let seed = 2026
  return (from) => {
    seed = (seed * 48_271) % 2_147_483_647
    return from[Math.floor((seed / 2_147_483_647) * from.length)] as (typeof from)[number]
  }
}
