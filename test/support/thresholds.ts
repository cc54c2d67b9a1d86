/* When thresholds are told: timelines, and a law that plays random calls. Each store plays them. */
import { describe, expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import {
  fixedWindow,
  type Policy,
  RateLimiter,
  type Reservation,
  type Store,
  type ThresholdEvent,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { rounds } from './depth.ts'
import fc from './fast-check.ts'

const day = 86_400_000

export type MakeStore = (clock: ManualClock) => Store

export interface Told {
  readonly limiter: RateLimiter
  readonly clock: ManualClock
  /** What the hook got since the last look: `key threshold@used`. */
  told(): string[]
}

let names = 0

/** A limiter whose events a test can read. @param make makes the store, with this clock */
export function limiterOf(policies: Policy | Policy[], make: MakeStore): Told {
  const clock = new ManualClock(Date.UTC(2026, 10, 23))
  const events: ThresholdEvent[] = []
  const limiter = new RateLimiter({
    name: `told-${names++}`,
    policies,
    store: make(clock),
    onThreshold: (event) => void events.push(event),
    onStoreError: 'throw',
  })
  const told = () => events.splice(0).map(({ key, threshold, used }) => `${key} ${threshold}@${used}`)
  return { limiter, clock, told }
}

const month = calendarWindow({ limit: 10, every: 'month', thresholds: [1, 0.8] })

/**
 * The timelines of thresholds, and their laws, on a store.
 * @param runs how many sequences of calls a law plays
 * @param severalSlots true if two keys are decided in two phases: then there are no lists of costs, and a call that one slot admits and
 *   another slot refuses may tell
 */
export function describeThresholds(name: string, make: MakeStore, runs: number, severalSlots = false): void {
  describe(`thresholds in ${name}`, () => {
    timelines(make)
    law(make, runs)
    lawBesideOtherParts(make, rounds(Math.ceil(runs / 5), runs), severalSlots)
  })
}

function timelines(make: MakeStore): void {
  test('are told in the call that reaches them, once in each window', async () => {
    const { limiter, clock, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 7 })
    expect(told()).toEqual([])
    await limiter.consume('ann')
    expect(told()).toEqual(['ann 0.8@8'])
    await limiter.consume('ann')
    expect(told()).toEqual([])
    await limiter.consume('bob', { cost: 10 })
    expect(told()).toEqual(['bob 0.8@10', 'bob 1@10'])
    clock.advance(8 * day)
    await limiter.consume('ann', { cost: 9 })
    expect(told()).toEqual(['ann 0.8@9'])
  })

  test('are not told again after units came back, also after all came back', async () => {
    const { limiter, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 8 })
    expect(told()).toEqual(['ann 0.8@8'])
    await limiter.refund('ann', { cost: 8 })
    await limiter.consume('ann', { cost: 9 })
    const reservation = await limiter.reserve('ann')
    expect(told()).toEqual(['ann 1@10'])
    await reservation.cancel()
    await limiter.consume('ann')
    expect(told()).toEqual([])
  })

  test('are not told by a refused call, also if the policy counts it', async () => {
    const counting = calendarWindow({ limit: 10, every: 'month', thresholds: [0.8], countRefused: true })
    const { limiter, told } = limiterOf(counting, make)
    await limiter.consume('ann', { cost: 7 })
    expect((await limiter.consume('ann', { cost: 4 })).allowed).toBe(false)
    expect(told()).toEqual([])
    await limiter.refund('ann')
    await limiter.consume('ann')
    expect(told()).toEqual(['ann 0.8@10'])
  })

  test('are told by charges and by settlements that take more units', async () => {
    const { limiter, told } = limiterOf(month, make)
    const reservation = await limiter.reserve('ann', { cost: 2 })
    await reservation.settle(8)
    expect(told()).toEqual(['ann 0.8@8'])
    await limiter.charge('ann', { cost: 30 })
    expect(told()).toEqual(['ann 1@38'])
  })

  test('are told for each policy and each scope by its own key', async () => {
    const user = calendarWindow({ limit: 2, every: 'day', scope: 'user', thresholds: [0.5] })
    const team = calendarWindow({ limit: 4, every: 'month', scope: 'team', thresholds: [0.5] })
    const { limiter, told } = limiterOf([user, team], make)
    await limiter.consume({ user: 'ann', team: 'red' })
    expect(told()).toEqual(['ann 0.5@1'])
    await limiter.consume({ user: 'bob', team: 'red' })
    expect(told()).toEqual(['bob 0.5@1', 'red 0.5@2'])
    const reservation = await limiter.reserve({ user: 'eve', team: 'blue' }, { cost: { day: 0, month: 1 } })
    await reservation.settle({ day: 1, month: 2 })
    expect(told()).toEqual(['eve 0.5@1', 'blue 0.5@2'])
  })

  test('of a fixed window are told once in each window on the clock', async () => {
    const { limiter, clock, told } = limiterOf(fixedWindow({ limit: 4, window: '1m', thresholds: [0.5] }), make)
    clock.advance(59_999)
    await limiter.consume('ann', { cost: 2 })
    expect(told()).toEqual(['ann 0.5@2'])
    clock.advance(1)
    expect((await limiter.consume('ann', { cost: 4 })).allowed).toBe(true)
    expect((await limiter.consume('ann')).retryAfter).toBe(60_000)
    expect(told()).toEqual(['ann 0.5@4'])
  })

  test('are not told again in the same window after an upgrade, and later ones are told of the new quota', async () => {
    const { limiter, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 9 })
    expect(told()).toEqual(['ann 0.8@9'])
    const pro = limiter.withPlan(calendarWindow({ limit: 100, every: 'month', thresholds: [0.5, 0.8, 0.9] }))
    await pro.consume('ann', { cost: 80 })
    expect(told()).toEqual([])
    await pro.consume('ann')
    expect(told()).toEqual(['ann 0.9@90'])
  })

  test('are told by a charge under another plan, whose state stays as it was', async () => {
    const { limiter, told } = limiterOf(month, make)
    await limiter.consume('ann', { cost: 4 })
    const half = limiter.withPlan(calendarWindow({ limit: 20, every: 'month', thresholds: [0.5] }))
    await half.charge('ann', { cost: 8 })
    await half.charge('ann', { cost: 1 })
    expect(told()).toEqual(['ann 0.5@12'])
    await limiter.refund('ann', { cost: 6 })
    await limiter.consume('ann', { cost: 3 })
    expect(told()).toEqual(['ann 0.8@10', 'ann 1@10'])
  })
}

type Step = readonly [
  verb: 'consume' | 'refund' | 'charge' | 'reserve' | 'settle',
  key: number,
  units: number,
  pause: number,
]

const steps = fc.array(
  fc.tuple(
    fc.constantFrom('consume', 'refund', 'charge', 'reserve', 'settle'),
    fc.nat(2),
    fc.nat(7),
    fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(day) }),
  ) as fc.Arbitrary<Step>,
  { minLength: 20, maxLength: 80 },
)

function law(make: MakeStore, runs: number): void {
  test('whatever the order of calls: one event for each key, window and threshold that an admitted call reaches', async () => {
    await fc.assert(
      fc.asyncProperty(steps, fc.boolean(), async (sequence, counts) => {
        const limit = 10
        const daily = calendarWindow({ limit, every: 'day', thresholds: [0.25, 0.8, 1], countRefused: counts })
        const { limiter, clock, told } = limiterOf(daily, make)
        const open: { key: string; cost: number; window: number; settle(units: number): Promise<void> }[] = []
        const expected = new Set<string>()
        for (const [verb, number, units, pause] of sequence) {
          clock.advance(pause)
          const key = `k${number}`
          const window = Math.floor(clock.milliseconds / day)
          const usedBefore = (await limiter.peek(key)).policies[0]?.used ?? 0
          const took = await run(verb, key, units, window)
          const { used = 0 } = (await limiter.peek(key)).policies[0] ?? {}
          const reached = [0.25, 0.8, 1].filter((part) => took && used >= Math.ceil(part * limit))
          const news = reached.map((part) => `${window} ${key} ${part}`).filter((each) => !expected.has(each))
          for (const each of news) expected.add(each)
          expect(told(), `${verb} ${units} of ${key}, ${usedBefore} used`).toEqual(
            news.map((each) => `${each.split(' ').slice(1).join(' ')}@${used}`),
          )
        }

        /** Runs a step. Returns true if it took units of the key. */
        async function run(verb: Step[0], key: string, units: number, window: number): Promise<boolean> {
          const cost = units + 1
          if (verb === 'consume') return (await limiter.consume(key, { cost })).allowed
          if (verb === 'charge') return (await limiter.charge(key, { cost })).allowed
          if (verb === 'reserve') {
            const reservation = await limiter.reserve(key, { cost })
            const settle = (actual: number) => reservation.settle(actual)
            if (reservation.allowed) open.push({ key, cost, window, settle })
            return reservation.allowed
          }
          const at = open.findIndex((reservation) => reservation.key === key)
          const [reservation] = verb === 'refund' || at < 0 ? [] : open.splice(at, 1)
          if (verb === 'refund') await limiter.refund(key, { cost })
          await reservation?.settle(units)
          return reservation !== undefined && reservation.window === window && units > reservation.cost
        }
      }),
      { numRuns: rounds(Math.ceil(runs / 3), runs) },
    )
  }, 120_000)
}

const parts = [0.25, 0.8, 1]

/** A quota of each user by the day, and one of each team by the week. */
const ownAndPool = (own: number, pool: number) => [
  calendarWindow({ name: 'own', limit: own, every: 'day', scope: 'user', thresholds: parts }),
  calendarWindow({ name: 'pool', limit: pool, every: 'week', scope: 'team', thresholds: parts }),
]

const monday = Date.UTC(2026, 10, 23)
const lengths = { own: day, pool: 7 * day }

type Owner = keyof typeof lengths
type Units = Readonly<Record<Owner, number>>
const owners: readonly Owner[] = ['own', 'pool']

const mixedSteps = fc.array(
  fc.record({
    verb: fc.constantFrom(
      ...(['consume', 'list', 'charge', 'refund', 'reserve', 'settle', 'cancel', 'usage', 'reset', 'forget'] as const),
    ),
    large: fc.boolean(),
    user: fc.constantFrom('ann', 'bob'),
    team: fc.constantFrom('red', 'blue'),
    own: fc.nat(3),
    pool: fc.nat(6),
    pause: fc.oneof({ weight: 6, arbitrary: fc.constant(0) }, { weight: 1, arbitrary: fc.nat(2 * day) }),
  }),
  { minLength: 20, maxLength: 60 },
)

function lawBesideOtherParts(make: MakeStore, runs: number, severalSlots: boolean): void {
  test('beside plans, lists of costs, usage, reset and forget: who pays tells its own thresholds once', async () => {
    await fc.assert(
      fc.asyncProperty(mixedSteps, async (sequence) => {
        const { limiter, clock, told } = limiterOf(ownAndPool(4, 10), make)
        const plans = [limiter, limiter.withPlan(ownAndPool(9, 25))] as const
        const open: {
          key: { user: string; team: string }
          plan: RateLimiter
          taken: Units
          since: Units
          reservation: Reservation
        }[] = []
        /** The largest part that was told, by the policy, the key and the window. */
        const most = new Map<string, number>()
        const windows = (): Units => {
          const passed = clock.milliseconds - monday
          return { own: Math.floor(passed / lengths.own), pool: Math.floor(passed / lengths.pool) }
        }
        for (const [n, { verb, large, user, team, own, pool, pause }] of sequence.entries()) {
          clock.advance(pause)
          let key: { user: string; team: string } = { user, team }
          let plan = plans[large ? 1 : 0]
          const cost = own + pool === 0 ? { own: 1, pool: 1 } : { own, pool }
          let refused = false
          const taken = await run()
          const expected: string[] = []
          const { policies } = await plan.peek(key)
          for (const [place, owner] of owners.entries()) {
            if (taken[owner] <= 0) continue
            const id = owner === 'own' ? key.user : key.team
            const name = `${id} ${windows()[owner]}`
            const { used = 0, limit = 0 } = policies[place] ?? {}
            const reached = parts.filter((part) => part > (most.get(name) ?? 0) && used >= Math.ceil(part * limit))
            most.set(name, reached.at(-1) ?? most.get(name) ?? 0)
            expected.push(...reached.map((part) => `${id} ${part}@${used}`))
          }
          const news = told()
          if (severalSlots && refused) for (const event of news) noteEarly(event)
          else expect(news.toSorted(), `step ${n}, ${verb}`).toEqual(expected.toSorted())

          /** Notes what a refused call has told: nothing that was told before. */
          function noteEarly(event: string): void {
            const [id, part] = event.split(/[ @]/)
            const name = `${id} ${windows()[id === user ? 'own' : 'pool']}`
            expect(Number(part), event).toBeGreaterThan(most.get(name) ?? 0)
            most.set(name, Number(part))
          }

          function forget(...ids: string[]): void {
            for (const name of most.keys()) if (ids.includes(name.split(' ', 1)[0] as string)) most.delete(name)
          }

          /** Runs the step. Returns the units that it took. */
          async function run(): Promise<Units> {
            const nothing = { own: 0, pool: 0 }
            if (verb === 'consume') {
              refused = !(await plan.consume(key, { cost })).allowed
              return refused ? nothing : cost
            }
            if (verb === 'charge') return (await plan.charge(key, { cost })).allowed ? cost : nothing
            if (verb === 'list') {
              const costs = [
                { own: own + 1, pool: 0 },
                { own: 0, pool: pool + 1 },
              ] as const
              const call = plan.consume(key, { cost: costs })
              if (!severalSlots)
                return (await call).allowed ? (costs[(await call).tried?.length ?? 0] as Units) : nothing
              await expect(call).rejects.toMatchObject({ code: 'HEADGATE_UNSUPPORTED' })
              return nothing
            }
            if (verb === 'reserve') {
              const reservation = await plan.reserve(key, { cost })
              refused = !reservation.allowed
              if (refused) return nothing
              open.push({ key, plan, taken: cost, since: windows(), reservation })
              return cost
            }
            if (verb === 'settle' || verb === 'cancel') {
              const booked = open.shift()
              if (booked === undefined) return nothing
              const { taken, since, reservation } = booked
              key = booked.key
              plan = booked.plan
              await (verb === 'cancel' ? reservation.cancel() : reservation.settle({ own, pool }))
              const now = windows()
              const more = (owner: Owner) =>
                verb === 'settle' && (taken[owner] === 0 || since[owner] === now[owner])
                  ? { own, pool }[owner] - taken[owner]
                  : 0
              return { own: more('own'), pool: more('pool') }
            }
            if (verb === 'refund') await plan.refund(key, { cost })
            if (verb === 'usage') await plan.usage(large ? key : { team })
            if (verb === 'reset') {
              await plan.reset(key)
              forget(user, team)
            }
            if (verb === 'forget') {
              await plan.forget([{ user }])
              forget(user)
            }
            return nothing
          }
        }
      }),
      { numRuns: rounds(Math.ceil(runs / 3), runs) },
    )
  }, 120_000)
}
