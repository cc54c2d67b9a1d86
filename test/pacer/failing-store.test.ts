import { describe, expect, test } from 'vitest'
import {
  gcra,
  memoryStore,
  type PolicyLike,
  type Store,
  slidingLog,
  slidingWindow,
  smoothBursty,
} from '../../src/index.ts'
import type { Pacer, PacerOptions } from '../../src/pacer/index.ts'
import { type Ledger, withFailover } from '../../src/store.ts'
import fc from '../support/fast-check.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* Pacers on a store, 5 ms away, that does not respond for a while: how many calls start in a window. */

const log = slidingLog({ limit: 5, window: '1s' })
/** Calls that need not wait start half a round trip after their booked time, and other calls at most two round trips, in milliseconds. */
const trips = 20

interface Outage {
  /** In milliseconds since the start. */
  from: number
  until: number
  how: 'silent' | 'failing'
}

/** Calls that each process makes at once, at a time in milliseconds since the start. */
interface Burst {
  at: number
  calls: number
}

/** Makes these calls in each process. Returns the starts of all processes, in order. */
async function startsOf(
  policy: PolicyLike,
  outages: readonly Outage[],
  {
    processes = 1,
    bursts = [{ at: 0, calls: 60 }],
    ...options
  }: PacerOptions & { processes?: number; bursts?: Burst[] } = {},
) {
  const { timeline, pacers, stores } = fleet(policy, processes, options)
  const starts: number[] = []
  const call = (pacer: Pacer) => void pacer.throttle(() => starts.push(timeline.now)).catch(() => undefined)
  const turn = (how: Outage['how'], fails: boolean) => {
    for (const store of stores) store[how] = fails
  }
  const steps = [
    ...bursts.map(({ at, calls }) => ({
      at,
      act: () =>
        pacers.forEach((pacer) => {
          for (let n = 0; n < calls; n++) call(pacer)
        }),
    })),
    ...outages.flatMap(({ from, until, how }) => [
      { at: from, act: () => turn(how, true) },
      { at: until, act: () => turn(how, false) },
    ]),
  ]
  for (const { at, act } of steps.sort((a, b) => a.at - b.at)) {
    await timeline.pass(at - timeline.now)
    act()
  }
  await timeline.pass(300_000)
  return starts
}

function fleet(policy: PolicyLike, processes: number, options: PacerOptions) {
  const timeline = new Timeline()
  const shared = new Map<string, Ledger>()
  const stores = Array.from({ length: processes }, () => new LateStore(timeline, 10, shared))
  const pacers: Pacer[] = stores.map((store) => timeline.pacer(policy, { store, ...options }))
  return { timeline, stores, pacers }
}

/** The most of these times in any half-open second. @param margin by how much a call may start later than its booked slot */
function mostInSecond(times: readonly number[], margin = 0): number {
  return Math.max(0, ...times.map((from) => times.filter((at) => at >= from && at < from + 1000 - margin).length))
}

describe('a process keeps its rate while the store does not respond', () => {
  test.each<[string, PacerOptions, number]>([
    ['a short storeTimeout', { storeTimeout: '300ms' }, 4300],
    ['a short storeTimeout and a long outage', { storeTimeout: '300ms' }, 20_000],
    ['the default storeTimeout', {}, 9300],
    ['a long horizon', { horizon: '8s' }, 9300],
    ['actual spacing', { storeTimeout: '300ms', spacing: 'actual' }, 4300],
    ['calls that reject', { storeTimeout: '300ms', onStoreError: 'closed' }, 4300],
  ])('%s', async (_, options, until) => {
    const starts = await startsOf(log, [{ from: 1300, until, how: 'silent' }], options)
    expect(mostInSecond(starts.filter((at) => at < until))).toBe(5)
    expect(mostInSecond(starts)).toBeLessThanOrEqual(10)
  })

  test('calls that come amid a short outage wait for the calls before', async () => {
    const bursts = [
      { at: 0, calls: 5 },
      { at: 500, calls: 20 },
    ]
    const starts = await startsOf(log, [{ from: 100, until: 505, how: 'failing' }], { bursts })
    expect(starts.length).toBe(25)
    expect(mostInSecond(starts)).toBeLessThanOrEqual(10)
  })

  test('with instances: 2, two processes together keep the rate, and double it at most around the outage', async () => {
    const outage: Outage = { from: 1300, until: 12_000, how: 'silent' }
    const options = { processes: 2, instances: 2, storeTimeout: '300ms' }
    const starts = await startsOf(slidingLog({ limit: 6, window: '1s' }), [outage], options)
    expect(starts.length).toBe(120)
    expect(mostInSecond(starts.filter((at) => at >= 5000 && at < 12_000))).toBe(6)
    expect(mostInSecond(starts, trips)).toBeLessThanOrEqual(12)
  })

  test('an outage at any time: at most the limit from the store and the limit from this process', async () => {
    const outage = fc.record({
      from: fc.integer({ min: 20, max: 6000 }),
      lasts: fc.integer({ min: 1, max: 7000 }),
      how: fc.constantFrom<Outage['how']>('silent', 'failing'),
    })
    const policies = fc.constantFrom<[PolicyLike, number]>(
      [log, 5],
      [gcra({ limit: 5, window: '1s', burst: 1 }), 5],
      [smoothBursty({ rate: 5, maxStored: 0 }), 5],
    )
    const burst = fc.record({ at: fc.integer({ min: 0, max: 8000 }), calls: fc.integer({ min: 1, max: 20 }) })
    const options = fc.record({
      bursts: fc.array(burst, { minLength: 1, maxLength: 3 }),
      storeTimeout: fc.constantFrom(50, 300, 2000, 5000),
      spacing: fc.constantFrom<'booked' | 'actual'>('booked', 'actual'),
      processes: fc.constantFrom(1, 3),
    })
    await fc.assert(
      fc.asyncProperty(
        fc.array(outage, { minLength: 1, maxLength: 3 }),
        policies,
        options,
        async (all, [policy, limit], given) => {
          let last = 0
          const outages = all.map(({ from, lasts, how }) => {
            const begins = last + from
            last = begins + lasts
            return { from: begins, until: last, how }
          })
          const { processes, bursts } = given
          const starts = await startsOf(policy, outages, { instances: processes, ...given })
          expect(starts.length).toBe(bursts.reduce((sum, { calls }) => sum + calls, 0) * processes)
          expect(mostInSecond(starts, processes > 1 ? trips : 0)).toBeLessThanOrEqual(2 * limit)
        },
      ),
      { numRuns: 60 },
    )
  })
})

describe('calls that are paced in this process', () => {
  test('keep their order, and leave the queue by an aborted signal and a timeout', async () => {
    const { timeline, stores, pacers } = fleet(log, 1, { storeTimeout: '300ms' })
    const [pacer] = pacers as [Pacer]
    for (let n = 0; n < 10; n++) void pacer.acquire()
    const controller = new AbortController()
    for (const name of 'ABCDE') timeline.write(name, pacer.acquire())
    timeline.write('X', pacer.acquire(1, { signal: controller.signal }))
    for (const name of 'FGHI') timeline.write(name, pacer.acquire())
    await timeline.pass(1300)
    stores[0]!.silent = true
    timeline.write('P', pacer.acquire(1, { priority: 1 }))
    timeline.write('T', pacer.acquire(1, { timeout: 900 }))
    await timeline.pass(700)
    controller.abort('gone')
    await timeline.pass(1400)
    stores[0]!.silent = false
    const read = await timeline.read()
    const order = [...read.matchAll(/\b(\w)\+\d+/g)].map(([, name]) => name)
    expect(order.join('')).toBe('PABCDEFGHI')
    expect(read).toContain('X!gone+2000')
    expect(read).toMatch(/T!HEADGATE_TIMEOUT\+/)
    expect(pacer.waiting).toBe(0)
  })

  test('keep the whole rate again as soon as the store responds, also in one of five processes', async () => {
    const policy = gcra({ limit: 10, window: '1s', burst: 10 })
    const { timeline, stores, pacers } = fleet(policy, 1, { storeTimeout: '300ms', instances: 5 })
    const starts: number[] = []
    for (let n = 0; n < 300; n++) void pacers[0]!.acquire().then(() => starts.push(timeline.now))
    await timeline.pass(2050)
    stores[0]!.silent = true
    await timeline.pass(8000)
    stores[0]!.silent = false
    await timeline.pass(60_000)
    const startsIn = (from: number, until: number) => starts.filter((at) => at >= from && at < until).length
    expect(startsIn(1000, 2000)).toBe(10)
    expect(startsIn(3000, 4000)).toBeLessThanOrEqual(10 + 2) // booked before the failure, and the part of this process
    for (const from of [5000, 6000, 7000, 8000, 9000]) expect(startsIn(from, from + 1000)).toBe(2)
    expect(startsIn(13_000, 23_000)).toBeGreaterThanOrEqual(100)
    expect(startsIn(15_000, 23_000)).toBe(80)
    expect(starts.length).toBe(300)
  })

  test('do not slow down the other calls of one of five processes after a short failure', async () => {
    const { timeline, stores, pacers } = fleet(log, 1, { storeTimeout: '300ms', instances: 5 })
    const starts: number[] = []
    for (let n = 0; n < 60; n++) void pacers[0]!.acquire().then(() => starts.push(timeline.now))
    await timeline.pass(1990)
    stores[0]!.failing = true
    await timeline.pass(100)
    stores[0]!.failing = false
    await timeline.pass(30_000)
    // The five calls whose requests failed have start times in this process, a second apart. Then the rate is that of the store again.
    expect(starts.filter((at) => at >= 3000 && at < 4000).length).toBe(6)
    expect(starts.filter((at) => at >= 9000 && at < 13_000).length).toBe(20)
    expect(mostInSecond(starts, trips)).toBeLessThanOrEqual(10)
  })

  test('respect a hold of another process once the store responds', async () => {
    const { timeline, stores, pacers } = fleet(log, 2, { storeTimeout: '300ms' })
    const starts: number[] = []
    for (let n = 0; n < 60; n++) void pacers[0]!.acquire().then(() => starts.push(timeline.now))
    await timeline.pass(1300)
    stores[0]!.silent = true
    await timeline.pass(3000)
    pacers[1]!.hold('5s')
    stores[0]!.silent = false
    await timeline.pass(30_000)
    expect(starts.filter((at) => at >= 5500 && at < 9300)).toEqual([])
    expect(starts.length).toBe(60)
    expect(mostInSecond(starts)).toBe(5)
  })
})

test.each([
  ['a log', slidingLog({ limit: 1, window: '100ms' })],
  ['a policy that cannot book', slidingWindow({ limit: 1, window: '100ms' })],
])('%s on a synchronous store that throws in a timer: waiting calls end, and no error is lost', async (_, policy) => {
  const timeline = new Timeline()
  const memory = memoryStore({ clock: timeline.clock.now })
  let isLocked = false
  const store: Store = {
    synchronous: true,
    traits: { fallible: true },
    open(terms, joins) {
      return withFailover(this, terms, joins, (bare) => {
        const ledger = memory.open(bare)
        const run: Ledger['run'] = (command) => {
          if (isLocked) throw new Error('the file is locked')
          return ledger.run(command)
        }
        return { run }
      })
    },
  }
  const pacer = timeline.pacer(policy, { store, name: 'locked', onStoreError: 'closed' })
  const ends: string[] = []
  const ended = (error?: { code: string }) => void ends.push(error?.code ?? 'ran')
  const calls = Array.from({ length: 12 }, () => pacer.acquire().then(() => ended(), ended))
  await timeline.pass(250)
  isLocked = true
  await timeline.pass(1000)
  isLocked = false
  await timeline.pass(5000)
  await Promise.all(calls)
  expect(ends.length).toBe(12)
  expect(['ran', 'HEADGATE_STORE_UNAVAILABLE']).toEqual(expect.arrayContaining(ends))
})
