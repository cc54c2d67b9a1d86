import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  type Policy,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import type { Pacer, PacerReservation } from '../../src/pacer/index.ts'
import { atLeast } from '../support/at-least.ts'
import { rounds } from '../support/depth.ts'
import fc from '../support/fast-check.ts'
import { Timeline } from './timeline.ts'

const window = 1000
const rates = [2, 3, 5, 10] as const
const fastest = 10

type Admitted = { at: number; cost: number }

/** The most units in `span` milliseconds, whatever rates are set. Slots are rounded up to a millisecond. */
type Bound = (span: number) => number
const bucket =
  (burst: number): Bound =>
  (span) =>
    burst + (fastest * (span + 1)) / window
const windows =
  (most: number): Bound =>
  (span) =>
    span < window ? most : Infinity

const promises: [string, (limit: number) => Policy, Bound][] = [
  ['gcra, burst 2', (limit) => gcra({ limit, window, burst: 2 }), bucket(2)],
  ['tokenBucket', (limit) => tokenBucket({ limit, window }), bucket(fastest)],
  ['tokenBucket, batches', (limit) => tokenBucket({ limit, window, refill: 'interval' }), windows(2 * fastest)],
  ['fixedWindow', (limit) => fixedWindow({ limit, window }), windows(2 * fastest)],
  ['slidingLog', (limit) => slidingLog({ limit, window }), windows(fastest)],
  ['slidingWindow', (limit) => slidingWindow({ limit, window }), windows(2 * fastest - 1)],
  ['segmentedWindow', (limit) => segmentedWindow({ limit, window }), windows(fastest)],
  // What is stored, the cost of the last call, which the next one pays for, and what the span brings.
  ['smoothBursty', (rate) => smoothBursty({ rate, maxStored: 3 }), bucket(3 + 2)],
]

type Act = (run: Run) => Promise<unknown> | unknown

/** Gives an act a name, for counterexamples. */
function named(name: string, act: Act): Act {
  return Object.assign((run: Run) => act(run), { [fc.toStringMethod]: () => name })
}

/** One random sequence of acts on one pacer. */
class Run {
  readonly timeline = new Timeline()
  readonly pacer: Pacer
  readonly admitted: Admitted[] = []
  readonly waiting: AbortController[] = []
  readonly reserved: { cost: number; reservation: PacerReservation; cancelled: boolean }[] = []
  asked = 0
  ended = 0

  constructor(policy: Policy) {
    this.pacer = this.timeline.pacer(policy)
  }

  acquire(cost: number, priority: number, timeout: number): void {
    const controller = new AbortController()
    this.waiting.push(controller)
    this.asked++
    this.pacer
      .acquire(cost, { priority, signal: controller.signal, timeout })
      .then(() => this.admitted.push({ at: this.timeline.now, cost }))
      .catch(() => undefined)
      .finally(() => this.ended++)
  }

  async reserve(cost: number): Promise<void> {
    const reservation = await this.pacer.reserve(cost)
    if (reservation.allowed) this.reserved.push({ cost, reservation, cancelled: false })
  }

  /** Cancels a reservation whose time has not come. After its time it has been used. */
  async cancel(n: number): Promise<void> {
    const found = this.reserved[n % this.reserved.length]
    if (found === undefined || found.reservation.at - this.timeline.start <= this.timeline.now) return
    found.cancelled = true
    await found.reservation.cancel()
  }

  get all(): Admitted[] {
    const used = this.reserved.filter(({ cancelled }) => !cancelled)
    const acted = used.map(({ cost, reservation }) => ({ at: reservation.at - this.timeline.start, cost }))
    return [...this.admitted, ...acted].sort((a, b) => a.at - b.at)
  }
}

const cost = fc.integer({ min: 1, max: 2 })
const small = fc.integer({ min: 0, max: 40 })
const acts: [weight: number, fc.Arbitrary<Act>][] = [
  [
    6,
    fc
      .tuple(cost, fc.integer({ min: 0, max: 2 }), fc.constantFrom(Infinity, 300))
      .map((call) => named(`acquire(${call})`, (run) => run.acquire(...call))),
  ],
  [2, small.map((n) => named(`abort(${n})`, (run) => run.waiting[n % run.waiting.length]?.abort()))],
  [3, fc.integer({ min: 1, max: 700 }).map((ms) => named(`pass(${ms})`, (run) => run.timeline.pass(ms)))],
  [1, cost.map((cost) => named(`reserve(${cost})`, (run) => run.reserve(cost)))],
  [1, small.map((n) => named(`cancel(${n})`, (run) => run.cancel(n)))],
  [1, fc.constantFrom(...rates).map((rate) => named(`setRate(${rate})`, (run) => run.pacer.setRate(rate)))],
  [1, fc.constant(named('pause', (run) => run.pacer.pause()))],
  [1, fc.constant(named('resume', (run) => run.pacer.resume()))],
]
const act = fc.oneof(...acts.map(([weight, arbitrary]) => ({ weight, arbitrary })))

describe.each(promises)('%s', (_, policyOf, bound) => {
  test('never over the limit in any span, whatever the order of calls, aborts, cancels, rates and pauses', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.constantFrom(...rates),
        fc.array(act, { minLength: 5, maxLength: 40 }),
        async (rate, acts) => {
          const run = new Run(policyOf(rate))
          for (const act of acts) await act(run)
          run.pacer.resume()
          await run.timeline.pass(200_000)
          expect(run.ended).toBe(run.asked)
          expect([run.pacer.waiting, run.timeline.sleeps.size]).toEqual([0, 0])
          const all = run.all
          for (let from = 0; from < all.length; from++) {
            let units = 0
            for (let to = from; to < all.length; to++) {
              units += all[to]!.cost
              atLeast(bound(all[to]!.at - all[from]!.at), units)
            }
          }
        },
      ),
      { numRuns: rounds(30, 60) },
    )
  })
})

describe('an aborted call leaves no trace', () => {
  const spaced: [string, Policy][] = [
    ['gcra', gcra({ limit: 10, window, burst: 1 })],
    ['smoothBursty', smoothBursty({ rate: 10, maxStored: 0 })],
    ['slidingLog', slidingLog({ limit: 1, window: 100 })],
    ['fixedWindow', fixedWindow({ limit: 1, window: 100, align: 'first-request' })],
  ]
  const call = fc.record({
    at: fc.integer({ min: 0, max: 400 }),
    maxWait: fc.option(fc.integer({ min: 1, max: 400 })),
  })

  /** A model: slots are 100 ms apart, or when the next call comes. The oldest waiting call is admitted. */
  function expected(calls: readonly { at: number; maxWait: number | null }[]): number[] {
    const admitted: number[] = []
    const waiting = calls.map(({ at, maxWait }) => ({ at, until: maxWait === null ? Infinity : at + maxWait }))
    for (let now = 0, next = 0; now < 20_000; now++) {
      if (now < next) continue
      const found = waiting.findIndex(({ at, until }) => at <= now && now <= until)
      if (found < 0) continue
      waiting.splice(found, 1)
      admitted.push(now)
      next = now + 100
    }
    return admitted
  }

  test.each(spaced)('%s: the other calls are admitted as if it had not come', async (_, policy) => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 15 }), async (unsorted) => {
        const calls = unsorted.toSorted((a, b) => a.at - b.at)
        const timeline = new Timeline()
        const pacer = timeline.pacer(policy)
        const admitted: number[] = []
        for (const { at, maxWait } of calls) {
          if (at > timeline.now) await timeline.pass(at - timeline.now)
          const controller = new AbortController()
          // Half a millisecond, so that no slot is due at the same moment.
          if (maxWait !== null) timeline.sleeper(maxWait + 0.5, () => controller.abort())
          pacer.acquire(1, { signal: controller.signal }).then(
            () => admitted.push(timeline.now),
            () => undefined,
          )
        }
        await timeline.pass(10_000)
        expect(admitted).toEqual(expected(calls))
      }),
      { numRuns: rounds(40, 100) },
    )
  })
})

describe('when calls of any cost give up, those behind them move up', () => {
  const policies: [string, Policy][] = [
    ['gcra', gcra({ limit: 10, window, burst: 3 })],
    ['smoothBursty', smoothBursty({ rate: 10 })],
    ['slidingLog', slidingLog({ limit: 3, window })],
    ['tokenBucket', tokenBucket({ limit: 10, window, burst: 3 })],
  ]
  const call = fc.record({ cost: fc.integer({ min: 1, max: 3 }), leaves: fc.boolean() })

  /** All calls come at once. Those that leave do so at once, before their slots. */
  async function admissions(policy: Policy, calls: readonly { cost: number; leaves: boolean }[]): Promise<string> {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    await pacer.acquire(3) // the whole burst
    const controller = new AbortController()
    for (const { cost, leaves } of calls) {
      const call = pacer.acquire(cost, leaves ? { signal: controller.signal } : {})
      if (leaves) call.catch(() => undefined)
      else timeline.write(`${cost}`, call)
    }
    controller.abort()
    const text = await timeline.read()
    expect([pacer.waiting, timeline.sleeps.size]).toEqual([0, 0])
    return text
  }

  test.each(policies)('%s', async (_, policy) => {
    await fc.assert(
      fc.asyncProperty(fc.array(call, { minLength: 1, maxLength: 12 }), async (calls) => {
        const staying = calls.filter(({ leaves }) => !leaves)
        expect(await admissions(policy, calls)).toBe(await admissions(policy, staying))
      }),
      { numRuns: rounds(40, 100) },
    )
  })
})

describe('acquire(n) costs as much as n calls of acquire(1)', () => {
  /** When a last call is admitted, after calls of these costs. */
  async function last(policy: Policy, costs: readonly number[]): Promise<number> {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    for (const cost of costs) pacer.acquire(cost)
    pacer.acquire(1).then(() => timeline.events.push(String(timeline.now)))
    return Number(await timeline.read(1_000_000))
  }

  test.each([
    ['gcra', (rate: number) => gcra({ limit: rate, window, burst: 30 }), 0],
    ['slidingLog', (rate: number) => slidingLog({ limit: 30, window: rate * 100 }), 0],
    // Each permit's price is cut to whole microseconds, as in Guava, so the difference is at most 1 us a permit.
    ['smoothBursty', (rate: number) => smoothBursty({ rate }), 1],
  ])('%s', async (_, policyOf, slack) => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 30 }), fc.integer({ min: 1, max: 30 }), async (n, rate) => {
        const once = await last(policyOf(rate), [n])
        const often = await last(policyOf(rate), new Array<number>(n).fill(1))
        expect(once - often).toBeGreaterThanOrEqual(0)
        expect(once - often).toBeLessThanOrEqual(slack)
      }),
      { numRuns: rounds(40, 100) },
    )
  })
})
