/** The laws of reservations as properties of every algorithm, for any store: `describeSettlementLaws('memory', createStore)`. */
import { ok, deepStrictEqual as same } from 'node:assert/strict'
import { describe, test } from 'vitest'
import { concurrency, type Policy, RateLimiter, type Reservation } from '../../src/index.ts'
import fc from './fast-check.ts'
import { algorithms, settles } from './promised.ts'
import { type CreateStore, elapsed, start, step, units } from './script.ts'

const key = 'k'

/** At most as many as every state keeps exactly: docs/algorithms.md. */
const mostOpen = 7

const thousandth = fc.integer({ min: 0, max: 1000 })

const steps = fc.array(
  fc.record({
    step,
    does: fc.oneof(
      { weight: 2, arbitrary: fc.constant('consume' as const) },
      { weight: 3, arbitrary: fc.constant('reserve' as const) },
      { weight: 3, arbitrary: fc.constant('settle' as const) },
      { weight: 1, arbitrary: fc.constant('refund' as const) },
    ),
    which: fc.nat(mostOpen),
    actual: fc.oneof(fc.constantFrom(0, 1000), thousandth),
  }),
  { minLength: 2, maxLength: 24 },
)

interface Open {
  readonly reservation: Reservation
  readonly cost: number
  /** What it really costs: that is decided when it is made. */
  readonly actual: number
}

/** @param numRuns how many random timelines each property gets */
export function describeSettlementLaws(name: string, create: CreateStore, { numRuns }: { numRuns: number }): void {
  const holds = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>) =>
    fc.assert(fc.asyncProperty(arbitrary, property), { numRuns })
  let limiters = 0
  const limiterOf = (policies: Policy | readonly Policy[], store: ReturnType<CreateStore>) =>
    new RateLimiter({ name: `limiter ${limiters++}`, policies, store })

  describe.each(Object.entries(algorithms))(`laws of reservations on ${name}: %s`, (algorithm, promised) => {
    const runs = fc.record({ promised: promised(), steps, t0: start })
    const settling = settles(promised) ? test : test.skip
    // Where the first call opens the window, it stays open if that call is settled to nothing. Intervals go on from the
    // first call as long as anything is spent, so settling to less may shift later ones: there, no time passes. The model
    // (test/model/) has the times.
    const stands = algorithm === 'tokenBucket, interval'
    const opensItself = algorithm === 'fixedWindow from the first request' || algorithm === 'tokenBucket, interval'
    // docs/algorithms.md: with a refund amid, these may be stricter, as they do not know the order of calls within a window.
    const unordered = ['slidingWindow', 'segmentedWindow', 'calendarWindow'].includes(algorithm)

    settling('10. settled in any order, the state is as if each call had cost its actual units from the start', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        let time = t0
        const [booked, plain] = [0, 1].map(() =>
          limiterOf(
            promised.policy,
            create(() => time),
          ),
        ) as [RateLimiter, RateLimiter]
        const open: Open[] = []
        const settle = async (n: number) => {
          const [each] = open.splice(n % open.length, 1) as [Open]
          await each.reservation.settle(each.actual)
        }
        let last = { retryAfter: 0, resetAfter: 0 }
        let refunded = false
        for (const { step, does, which, actual } of steps) {
          time += stands ? 0 : elapsed(step.after, promised.window, last)
          const cost = Math.min(units(step.cost, promised.capacity), promised.capacity)
          if (does === 'refund') {
            if (algorithm === 'slidingLog') time++ // docs/algorithms.md: it does not know the order within a microsecond
            const left = (await plain.peek(key)).policies[0]?.used as number
            if (opensItself && left <= cost) continue
            for (const limiter of [booked, plain]) await limiter.refund(key, { cost })
            if (open.length > 0) refunded = true
            if (algorithm === 'slidingLog') time++
            continue
          }
          if (does === 'settle' || open.length === mostOpen) {
            if (open.length > 0) await settle(which)
            continue
          }
          if (does === 'consume' && open.length > 0 && !unordered) continue // its own arrival takes a step, as a reservation does
          const reservation = await booked.reserve(key, { cost })
          last = reservation.decision
          if (!reservation.allowed) continue
          const least = opensItself ? 1 : 0
          const due = does === 'consume' ? cost : Math.max(least, Math.floor((cost * actual) / 1000))
          if (due > 0) await plain.charge(key, { cost: due })
          if (does === 'consume') await reservation.settle(cost)
          else open.push({ reservation, cost, actual: due })
        }
        while (open.length > 0) await settle(open.length * 7 + 3)
        const [settled, exact] = [await booked.peek(key), await plain.peek(key)]
        if (!(unordered && refunded)) return same(settled, exact)
        ok(settled.remaining <= exact.remaining, `${settled.remaining} left, and not ${exact.remaining}`)
        time += promised.window * 500
        ok((await booked.peek(key)).remaining <= (await plain.peek(key)).remaining, 'half a window later')
      }),
    )

    settling('10. cancelled in any order, bookings ahead leave nothing', () =>
      holds(
        fc.record({
          promised: promised(),
          t0: start,
          costs: fc.array(thousandth, { maxLength: mostOpen }),
          picks: fc.array(fc.nat(100)),
        }),
        async (run) => {
          const { promised, costs, picks } = run
          const limiter = limiterOf(
            promised.policy,
            create(() => run.t0),
          )
          const before = await limiter.peek(key)
          const open: Reservation[] = []
          for (const each of costs) {
            const cost = units({ capacity: Math.max(1, each) }, promised.capacity)
            const reservation = await limiter.reserve(key, { cost, maxWait: '366d' })
            if (reservation.allowed) open.push(reservation)
          }
          for (let n = 0; open.length > 0; n++) await open.splice((picks[n] ?? n) % open.length, 1)[0]?.cancel()
          same(await limiter.peek(key), before)
        },
      ),
    )
  })

  describe(`laws of reservations on ${name}: units in flight`, () => {
    const flights = fc.array(
      fc.record({
        after: fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 400 })),
        does: fc.constantFrom('reserve', 'reserve', 'settle', 'cancel', 'release', 'renew', 'forget'),
        cost: fc.integer({ min: 1, max: 3 }),
        which: fc.nat(20),
      }),
      { maxLength: 40 },
    )

    test('12. a unit is counted until it is released or its lease ends', () =>
      holds(
        fc.record({ limit: fc.integer({ min: 1, max: 6 }), flights, t0: start }),
        async ({ limit, flights, t0 }) => {
          const lease = 1000
          let time = t0
          const limiter = limiterOf(
            concurrency({ limit, lease }),
            create(() => time),
          )
          const open: { reservation: Reservation; cost: number; ends: number }[] = []
          /** Of those whose process forgot them. */
          const forgotten: { cost: number; ends: number }[] = []
          const inFlight = () =>
            [...open, ...forgotten].reduce((sum, { cost, ends }) => (ends > time ? sum + cost : sum), 0)
          for (const { after, does, cost, which } of flights) {
            time += after * 1000
            const n = open.length === 0 ? -1 : which % open.length
            const held = open[n]
            if (does === 'reserve') {
              const fits = inFlight() + cost <= limit
              const reservation = await limiter.reserve(key, { cost })
              same(reservation.allowed, fits)
              if (fits) open.push({ reservation, cost, ends: time + lease * 1000 })
            } else if (held !== undefined && does === 'renew') {
              const others = inFlight() - (held.ends > time ? held.cost : 0)
              const fits = others + held.cost <= limit
              same(await held.reservation.renew(), fits)
              if (fits) held.ends = time + lease * 1000
            } else if (held !== undefined) {
              open.splice(n, 1)
              if (does === 'forget') forgotten.push(held)
              else if (does === 'settle') await held.reservation.settle(held.cost)
              else await held.reservation[does as 'cancel' | 'release']()
            }
            const { policies } = await limiter.peek(key)
            same(policies[0]?.used, inFlight())
          }
        },
      ))
  })
}
