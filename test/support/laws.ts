/** The laws of rate limiting as properties of every algorithm, for any store: `describeLaws('memory', createStore)`. */
import { ok, deepStrictEqual as same } from 'node:assert/strict'
import { describe, test } from 'vitest'
import type { Decision, Reservation } from '../../src/index.ts'
import fc from './fast-check.ts'
import { type Admitted, algorithms, anyPromised, type Promised, settles } from './promised.ts'
import {
  type CreateStore,
  cost,
  elapsed,
  play,
  Rig,
  type Step,
  script,
  start,
  step,
  units,
  type Waits,
} from './script.ts'

const key = 'k'
const ms = 1000

/** @param numRuns how many random timelines each property gets */
export function describeLaws(name: string, create: CreateStore, { numRuns }: { numRuns: number }): void {
  const holds = <T>(arbitrary: fc.Arbitrary<T>, property: (value: T) => Promise<void>) =>
    fc.assert(fc.asyncProperty(arbitrary, property), { numRuns })

  describe.each(Object.entries(algorithms))(`laws on ${name}: %s`, (algorithm, promised) => {
    const runs = fc.record({ promised: promised(), steps: script, t0: start })
    const settling = settles(promised) ? test : test.skip

    test('1. it never admits more than its limit, in any window', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        const admitted: Admitted[] = []
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          if (decision.allowed) admitted.push({ time, cost })
          return decision
        })
        same(promised.exceeded(admitted), undefined)
      }))

    test('2. a call is admitted after retryAfter and not 1 ms sooner; a cost that can never fit gets Infinity', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        let delayed = 0
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = time + delayed
          const decision = await rig.limiter.consume(key, { cost })
          same(decision.allowed, decision.retryAfter === 0)
          same(decision.retryAfter === Infinity, cost > promised.capacity)
          if (decision.allowed || cost > promised.capacity) return decision
          ok(decision.retryAfter * ms <= promised.longestWait + ms - 1)
          rig.time += decision.retryAfter * ms - ms
          same((await rig.limiter.consume(key, { cost })).allowed, false)
          rig.time += ms
          same((await rig.limiter.consume(key, { cost })).allowed, true)
          delayed = rig.time - time
          return { ...decision, retryAfter: 0 }
        })
      }))

    test('3. a refused call changes nothing', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        const untouched = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = untouched.time = time
          const decision = await rig.limiter.consume(key, { cost })
          if (decision.allowed) same(decision, await untouched.limiter.consume(key, { cost }))
          return decision
        })
        same(await rig.limiter.peek(key), await untouched.limiter.peek(key))
      }))

    test('4. a cost of `remaining` is admitted, and one unit more is refused', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          const { remaining } = decision
          ok(remaining >= 0 && remaining <= promised.capacity)
          same((await rig.limiter.consume(key, { cost: remaining + 1 })).allowed, false)
          if (remaining > 0) same((await rig.limiter.peek(key, { cost: remaining })).remaining, remaining)
          if (remaining > 0) same((await rig.limiter.peek(key, { cost: remaining })).allowed, true)
          return decision
        })
        const { remaining } = await rig.limiter.peek(key)
        if (remaining === 0) return
        const last = await rig.limiter.consume(key, { cost: remaining })
        same([last.allowed, last.remaining], [true, 0])
      }))

    test('5. after resetAfter, and not sooner, the key is decided like a new key', () =>
      holds(fc.record({ promised: promised(), steps: script, t0: start, more: script }), async (run) => {
        const { promised, steps, t0, more } = run
        const rig = new Rig(create, promised.policy, t0)
        let resetAfter = 0
        const end = await play(steps, promised, t0, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          resetAfter = decision.resetAfter
          return decision
        })
        if (resetAfter > 0) {
          rig.time = end + resetAfter * ms - ms
          same((await rig.limiter.peek(key, { cost: promised.capacity })).allowed, false)
        }
        await play(more, promised, end + resetAfter * ms, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          same(decision, await rig.limiter.consume('new', { cost }))
          return decision
        })
      }))

    test('6. one call of cost n is the same as n calls of cost 1', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        const split = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = split.time = time
          const n = Math.min(cost, 20)
          const decision = await rig.limiter.consume(key, { cost: n })
          if (decision.allowed) {
            let last: Decision | undefined
            for (let call = 0; call < n; call++) last = await split.limiter.consume(key)
            same(decision, last)
          } else {
            same((await split.limiter.peek(key, { cost: n })).allowed, false)
          }
          return decision
        })
      }))

    test('7. a clock that goes back by less than the tolerance stands still: no quota is gained', () =>
      holds(fc.record({ promised: promised(), steps: jumpy, t0: start }), async ({ promised, steps, t0 }) => {
        const origin = t0 + 2 * toleranceOf(promised)
        const rig = new Rig(create, promised.policy, origin)
        const steady = new Rig(create, promised.policy, origin)
        const admitted: Admitted[] = []
        let committed: number | undefined // the latest time that the key has seen
        for (const { back, step } of steps) {
          const forth = elapsed(step.after, promised.window, { retryAfter: 1, resetAfter: 1 })
          rig.time =
            back === undefined || committed === undefined ? rig.time + forth : committed - backBy(back, promised)
          steady.time = Math.max(committed ?? 0, rig.time)
          const cost = units(step.cost, promised.capacity)
          const decision = await rig.limiter.consume(key, { cost })
          const expected = await steady.limiter.consume(key, { cost })
          same([decision.allowed, decision.remaining], [expected.allowed, expected.remaining])
          if (!decision.allowed) continue
          committed = steady.time
          admitted.push({ time: committed, cost })
        }
        same(promised.exceeded(admitted), undefined)
      }))

    test('7. after the clock went back, retryAfter is still exact', () =>
      holds(
        fc.record({ promised: promised(), steps: script, t0: start, back, times: fc.constantFrom(1, 2), cost }),
        async (run) => {
          const { promised, steps, t0, back, times } = run
          const origin = t0 + 2 * toleranceOf(promised)
          const rig = new Rig(create, promised.policy, origin)
          rig.time = await play(steps, promised, origin, async (time, cost) => {
            rig.time = time
            return rig.limiter.consume(key, { cost })
          })
          rig.time -= times * backBy(back, promised)
          const wanted = Math.min(units(run.cost, promised.capacity), promised.capacity)
          const { allowed, retryAfter } = await rig.limiter.consume(key, { cost: wanted })
          if (allowed) return
          rig.time += (retryAfter - 1) * ms
          same((await rig.limiter.consume(key, { cost: wanted })).allowed, false)
          rig.time += ms
          same((await rig.limiter.consume(key, { cost: wanted })).allowed, true)
        },
      ))

    test('7. a clock that goes back further makes no call wait for longer than the longest wait', () =>
      holds(fc.record({ promised: promised(), steps: script, t0: start, further: thousandths, cost }), async (run) => {
        const { promised, steps, further } = run
        const tolerance = toleranceOf(promised)
        const origin = run.t0 + 2 * tolerance
        const rig = new Rig(create, promised.policy, origin)
        let committed = origin
        await play(steps, promised, origin, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          if (decision.allowed) committed = time
          return decision
        })
        const wanted = Math.min(units(run.cost, promised.capacity), promised.capacity)
        rig.time = Math.floor(((committed - tolerance) * further) / 1000)
        const { remaining } = await rig.limiter.peek(key)
        const { allowed, retryAfter } = await rig.limiter.consume(key, { cost: wanted })
        same(allowed, wanted <= remaining)
        ok(retryAfter * ms <= promised.longestWait + ms - 1, `${retryAfter} ms for at most ${promised.longestWait} us`)
        if (allowed) return
        rig.time += (retryAfter - 1) * ms
        same((await rig.limiter.consume(key, { cost: wanted })).allowed, false)
        rig.time += ms
        same((await rig.limiter.consume(key, { cost: wanted })).allowed, true)
      }))

    settling('8. consume and refund at once change no later decision', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        const untouched = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = untouched.time = time
          if ((await rig.limiter.consume(key, { cost })).allowed) await rig.limiter.refund(key, { cost })
          const decision = await rig.limiter.consume(key, { cost })
          same(decision, await untouched.limiter.consume(key, { cost }))
          return decision
        })
      }),
    )

    settling('8. a refund gives back at most its cost, and never more than the full quota', () =>
      holds(fc.record({ promised: promised(), steps: script, t0: start, more: script }), async (run) => {
        const { promised, steps, t0, more } = run
        const rig = new Rig(create, promised.policy, t0)
        const end = await play(steps, promised, t0, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          const back = Math.ceil(cost / 3)
          const { remaining } = await rig.limiter.refund(key, { cost: back })
          ok(remaining <= Math.min(promised.capacity, decision.remaining + back))
          ok(remaining >= decision.remaining)
          return decision
        })
        const full = await rig.limiter.refund(key, { cost: Number.MAX_SAFE_INTEGER })
        same([full.remaining, full.resetAfter], [promised.capacity, 0])
        await play(more, promised, end, async (time, cost) => {
          rig.time = time
          const decision = await rig.limiter.consume(key, { cost })
          same(decision, await rig.limiter.consume('new', { cost }))
          return decision
        })
      }),
    )

    test('peek decides as consume would, and changes nothing', () =>
      holds(runs, async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        const unseen = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = unseen.time = time
          const peeked = await rig.limiter.peek(key, { cost })
          const decision = await rig.limiter.consume(key, { cost })
          same([peeked.allowed, peeked.retryAfter], [decision.allowed, decision.retryAfter])
          if (!decision.allowed) same(peeked, decision)
          same(decision, await unseen.limiter.consume(key, { cost }))
          return decision
        })
      }))

    test('charge: debt is worked off, and the waits stay exact', () =>
      holds(fc.record({ promised: promised(), steps: script, t0: start, debt: thousandths }), async (run) => {
        const { promised, steps, t0, debt } = run
        const rig = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = time
          return rig.limiter.consume(key, { cost })
        })
        const before = await rig.limiter.peek(key)
        const charged = await rig.limiter.charge(key, {
          cost: Math.max(1, Math.floor((3 * promised.capacity * debt) / 1000)),
        })
        if (!charged.allowed) {
          same([charged.retryAfter, charged.remaining], [Infinity, before.remaining])
          same(await rig.limiter.peek(key), before)
          return
        }
        ok(charged.remaining <= before.remaining)
        const { allowed, retryAfter, resetAfter } = await rig.limiter.peek(key)
        if (!allowed) {
          rig.time += (retryAfter - 1) * ms
          same((await rig.limiter.consume(key)).allowed, false)
          rig.time += ms
          same((await rig.limiter.peek(key)).allowed, true)
          rig.time -= retryAfter * ms
        }
        rig.time += (resetAfter - 1) * ms
        same((await rig.limiter.peek(key, { cost: promised.capacity })).allowed, false)
        rig.time += ms
        same((await rig.limiter.consume(key, { cost: promised.capacity })).allowed, true)
      }))

    settling('reserve: settled at once, it is as if the actual cost had been consumed', () =>
      holds(fc.record({ promised: promised(), steps: script, t0: start, actual: thousandths }), async (run) => {
        const { promised, steps, t0 } = run
        const rig = new Rig(create, promised.policy, t0)
        const plain = new Rig(create, promised.policy, t0)
        await play(steps, promised, t0, async (time, cost) => {
          rig.time = plain.time = time
          const actual = Math.floor((cost * run.actual) / 1000)
          const reservation = await rig.limiter.reserve(key, { cost })
          await reservation.settle(actual)
          if (reservation.allowed && actual > 0) await plain.limiter.consume(key, { cost: actual })
          same(await rig.limiter.peek(key, { cost }), await plain.limiter.peek(key, { cost }))
          return reservation.decision
        })
      }),
    )

    settling.each(['newest first', 'oldest first', 'in any order'])(
      'reserve: several reservations, all cancelled at once, %s',
      (order) =>
        holds(
          fc.record({ promised: promised(), steps: script, t0: start, costs: fc.array(cost), picks }),
          async (run) => {
            const { promised, steps, t0, costs } = run
            const rig = new Rig(create, promised.policy, t0)
            await play(steps, promised, t0, async (time, cost) => {
              rig.time = time
              return rig.limiter.consume(key, { cost })
            })
            const before = await rig.limiter.peek(key)
            const open: Reservation[] = []
            for (const each of costs)
              open.push(await rig.limiter.reserve(key, { cost: units(each, promised.capacity) }))
            while (open.length > 0) {
              const pick =
                { 'newest first': open.length - 1, 'oldest first': 0 }[order] ?? run.picks.next().value % open.length
              await open.splice(pick, 1)[0]?.cancel()
            }
            const after = await rig.limiter.peek(key)
            if (order !== 'in any order') same(after, before)
            ok(after.remaining <= before.remaining)
          },
        ),
    )

    test('reserve: booked ahead and settled at any later time, no window exceeds the limit', () =>
      holds(fc.record({ promised: promised(), steps: bookings, t0: start }), async ({ promised, steps, t0 }) => {
        const rig = new Rig(create, promised.policy, t0)
        await neverExceeds(rig, promised, steps)
      }))

    test('countRefused: hammering keeps a key refused, and waiting for retryAfter admits it', () =>
      holds(
        fc.record({ promised: algorithms[algorithm]!({ countRefused: true }), steps: script, t0: start, cost }),
        async ({ promised, steps, t0, cost }) => {
          const rig = new Rig(create, promised.policy, t0)
          const admitted: Admitted[] = []
          rig.time = await play(steps, promised, t0, async (time, cost) => {
            rig.time = time
            const before = await rig.limiter.peek(key)
            const decision = await rig.limiter.consume(key, { cost })
            if (decision.allowed) admitted.push({ time, cost })
            ok(decision.remaining <= Math.max(0, before.remaining - (decision.allowed ? cost : 0)))
            return decision
          })
          same(promised.exceeded(admitted), undefined)
          const wanted = Math.min(units(cost, promised.capacity), promised.capacity)
          const { allowed, retryAfter } = await rig.limiter.consume(key, { cost: wanted })
          if (allowed) return
          ok(retryAfter * ms <= promised.longestWait + ms - 1)
          rig.time += (retryAfter - 1) * ms
          same((await rig.limiter.peek(key, { cost: wanted })).allowed, false)
          rig.time += ms
          same((await rig.limiter.consume(key, { cost: wanted })).allowed, true)
        },
      ))
  })

  describe(`laws on ${name}: several policies, several scopes`, () => {
    const several = fc.array(anyPromised(), { minLength: 2, maxLength: 4 })
    const runs = fc.record({
      several,
      steps: fc.array(fc.record({ step, user: letter, address: letter }), { maxLength: 25 }),
      t0: start,
    })

    test('9. either all policies commit or none does, and the joint decision is right', () =>
      holds(runs, async ({ several, steps, t0 }) => {
        const policies = several.map(({ policy }, n) => ({
          ...policy,
          name: `p${n}`,
          label: `p${n}`,
          scope: scopeOf(n),
        }))
        const rig = new Rig(create, policies, t0)
        const alone = policies.map((policy) => new Rig(create, policy, t0))
        const { capacity, window } = several[0]!
        let last = { retryAfter: 0, resetAfter: 0 }
        for (const { step, ...key } of steps) {
          const cost = units(step.cost, capacity)
          rig.time += elapsed(step.after, window, last)
          for (const each of alone) each.time = rig.time
          const keyOf = (n: number) => key[scopeOf(n)]
          const peeked = await Promise.all(alone.map(({ limiter }, n) => limiter.peek(keyOf(n), { cost })))
          const decision = await rig.limiter.consume(key, { cost })
          same(
            decision.allowed,
            peeked.every(({ allowed }) => allowed),
          )
          const after = decision.allowed
            ? await Promise.all(alone.map(({ limiter }, n) => limiter.consume(keyOf(n), { cost })))
            : peeked
          same(
            decision.policies,
            after.map(({ policies: [verdict] }) => verdict),
          )
          same(decision.remaining, Math.min(...after.map(({ remaining }) => remaining)))
          same(decision.retryAfter, Math.max(...after.map(({ retryAfter }) => retryAfter)))
          same(decision.resetAfter, Math.max(...after.map(({ resetAfter }) => resetAfter)))
          last = decision
        }
      }))

    test('1, 9. with reservations and settlements, no policy exceeds its limit', () =>
      holds(fc.record({ several, steps: bookings, t0: start }), async ({ several, steps, t0 }) => {
        const policies = several.map(({ policy }, n) => ({ ...policy, name: `p${n}`, label: `p${n}` }))
        const exceededBooked = (admitted: readonly Admitted[]) =>
          several.map((each) => each.exceededBooked(admitted)).find(Boolean)
        const joint = { ...several[0]!, exceededBooked }
        await neverExceeds(new Rig(create, policies, t0), joint, steps)
      }))
  })
}

const letter = fc.constantFrom('a', 'b')

const scopeOf = (n: number) => (n % 2 === 0 ? 'user' : 'address')

const picks = fc.infiniteStream(fc.nat())

const thousandths = fc.integer({ min: 0, max: 1000 })

/** A clock that goes back by less than this stands still: the largest of the window, a refill and 60 s. */
const toleranceOf = ({ window, refill }: Promised) => Math.max(window, refill, 60_000_000)

/** How far a clock goes back: thousandths of the tolerance, or of a refill. */
const back = fc.record({ of: fc.constantFrom('tolerance', 'refill'), thousandths })

const backBy = ({ of, thousandths }: { of: string; thousandths: number }, promised: Promised): number =>
  Math.floor((thousandths * ((of === 'refill' ? promised.refill : toleranceOf(promised)) - 1)) / 1000)

/** Steps of which some set the clock back, but always by less than the tolerance. */
const jumpy = fc.array(fc.record({ back: fc.option(back, { nil: undefined }), step }), { maxLength: 25 })

interface BookingStep {
  step: Step
  /** A call with this verb, or the settlement of the reservation made that many calls ago. */
  does:
    | { verb: 'consume' }
    | { verb: 'reserve'; maxWaitPermille: number }
    | { verb: 'settle'; ago: number; actual: number }
}

/** Coarse costs and waits, so that reservations queue for the same time and are settled in any order. */
const bookings: fc.Arbitrary<BookingStep[]> = fc.array(
  fc.record({
    step: fc.record({
      after: fc.oneof(
        { weight: 3, arbitrary: fc.constant({ us: 0 }) },
        { weight: 2, arbitrary: fc.record({ window: fc.constantFrom(100, 250, 333, 500, 1000) }) },
        { weight: 1, arbitrary: step.map(({ after }) => after) },
      ),
      cost: fc.oneof(fc.record({ capacity: fc.constantFrom(1, 250, 333, 500, 700, 1000) }), cost),
    }),
    does: fc.oneof(
      fc.record({ verb: fc.constant('consume' as const) }),
      fc.record({ verb: fc.constant('reserve' as const), maxWaitPermille: fc.constantFrom(0, 1000, 5000) }),
      fc.record({ verb: fc.constant('settle' as const), ago: fc.nat(2), actual: fc.constantFrom(0, 0, 300, 1000) }),
    ),
  }),
  { maxLength: 20 },
)

/**
 * Law 1 for units that are booked ahead and given back. Each reservation counts at the time that it was promised, with its
 * actual cost. The clock has whole milliseconds, because promised times do.
 */
async function neverExceeds(rig: Rig, promised: Promised, steps: readonly BookingStep[]): Promise<void> {
  const open: { reservation: Reservation; admitted: Admitted }[] = []
  const all: Admitted[] = []
  let last: Waits = { retryAfter: 0, resetAfter: 0 }
  rig.time -= rig.time % ms
  for (const { step, does } of steps) {
    rig.time += Math.ceil(elapsed(step.after, promised.window, last) / ms) * ms
    const cost = units(step.cost, promised.capacity)
    if (does.verb === 'consume') {
      const decision = await rig.limiter.consume(key, { cost })
      if (decision.allowed) all.push({ time: rig.time, cost })
      last = decision
    } else if (does.verb === 'reserve') {
      const maxWait = Math.min(Math.ceil((does.maxWaitPermille * promised.window) / 1_000_000), 366 * 86_400_000)
      const reservation = await rig.limiter.reserve(key, { cost, maxWait })
      const { allowed, wait, decision } = reservation
      ok(wait <= maxWait)
      const admitted = { time: rig.time + wait * ms, cost }
      if (allowed) all.push(admitted)
      if (allowed) open.push({ reservation, admitted })
      last = allowed ? { ...decision, retryAfter: wait } : decision
    } else {
      const [settled] = open.splice(-1 - does.ago, 1)
      if (settled === undefined) continue
      settled.admitted.cost = Math.floor((settled.admitted.cost * does.actual) / 1000)
      await settled.reservation.settle(settled.admitted.cost)
    }
  }
  same(promised.exceededBooked(all), undefined)
}
