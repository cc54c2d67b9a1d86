import Database from 'libsql'
import { describe, expect, test } from 'vitest'
import {
  concurrency,
  gcra,
  type PolicyLike,
  type Store,
  slidingLog,
  slidingWindow,
  smoothBursty,
  tokenBucket,
} from '../../src/index.ts'
import type { Pacer, PacerOptions } from '../../src/pacer/index.ts'
import type { Ledger } from '../../src/store.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import fc from '../support/fast-check.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* Several pacers, as in several processes, on the states of one server. It is 5 ms away from all of them, or as far as a test says. */

const even = gcra({ limit: 10, window: '1s', burst: 1 })

function fleet(policy: PolicyLike, latencies: readonly number[] = [10, 10, 10], options: PacerOptions = {}) {
  const timeline = new Timeline()
  const shared = new Map<string, Ledger>()
  const stores = latencies.map((latency) => new LateStore(timeline, latency, shared))
  const pacers = stores.map((store) => timeline.pacer(policy, { store, ...options }))
  return { timeline, stores, pacers }
}

/** Pacers on a store that several processes share and that answers at once. */
function fleetOnFile(policy: PolicyLike) {
  const timeline = new Timeline()
  const database = new Database(':memory:')
  const pacers = [1, 2, 3].map(() => {
    const store = sqliteStore({ database, clock: timeline.clock.now })
    return timeline.pacer(policy, { store, name: 'fleet' })
  })
  return { timeline, pacers }
}

describe('a hold of one process holds the others', () => {
  test('a call whose slot was booked before the hold waits', async () => {
    const { timeline, pacers } = fleet(even)
    for (const [n, name] of [...'ABCDEF'].entries()) timeline.write(name, pacers[n % 3]!.acquire())
    await timeline.pass(150)
    pacers[0]!.hold('1s')
    // Each process learns of the hold before its next slot, gives its slots back, and books again when the hold ends by the store's clock.
    expect(await timeline.read()).toBe('A+10 B+110 D+1160 C+1260 F+1360 E+1460')
  })

  test("calls that are late and keep spacing: 'actual' wait too", async () => {
    const { timeline, pacers } = fleet(even, [10, 10], { spacing: 'actual' })
    for (const name of 'ABCDE')
      timeline.write(
        name,
        pacers[0]!.throttle(async () => {}),
      )
    await timeline.pass(20)
    timeline.clock.set(timeline.clock.milliseconds + 500) // the event loop was blocked
    await timeline.pass(20)
    pacers[1]!.hold('1s')
    expect(await timeline.read()).toBe('A+10 B+530 C+1560 D+1660 E+1760')
  })

  test.each([60, 100])(
    "asks no more than a late call needs: spacing: 'actual' and a round trip of %i ms",
    async (trip) => {
      const { timeline, pacers } = fleet(gcra({ limit: 50, window: '1s', burst: 1 }), [trip], { spacing: 'actual' })
      const calls = Array.from({ length: 300 }, () => pacers[0]!.throttle(async () => {}))
      await timeline.pass(300 * 20 + 1500)
      expect(pacers[0]!.waiting).toBeLessThan(5)
      await timeline.read()
      await Promise.all(calls)
    },
  )

  test('a process that comes later learns of it by its first call', async () => {
    const { timeline, pacers } = fleet(even)
    pacers[0]!.hold('1s')
    await timeline.pass(500)
    timeline.write('A', pacers[1]!.acquire())
    expect(await timeline.read()).toMatch(/^A\+10(1\d|2\d)$/)
  })

  const policies: [string, PolicyLike][] = [
    ['a log', slidingLog({ limit: 3, window: '300ms' })],
    ['even calls', even],
    ['Guava', smoothBursty({ rate: 10 })],
    ['a policy that cannot book', slidingWindow({ limit: 1, window: '100ms' })],
    ['calls in flight', concurrency({ limit: 1, lease: '5s' })],
  ]
  const far = (trips: readonly number[]) => (policy: PolicyLike) => fleet(policy, trips)
  const near = () => fleetOnFile

  test.each([
    ...policies.map(([name, policy]) => [name, 'a server', policy, far, 40] as const),
    ...policies.map(([name, policy]) => [name, 'SQLite', policy, near, 10] as const),
  ])(
    '%s on %s: nobody starts from one round trip after a hold to its end',
    async (_, _store, policy, open, numRuns) => {
      const hold = fc.record({ at: fc.nat(900), pacer: fc.nat(2), length: fc.integer({ min: 1, max: 900 }) })
      const call = fc.record({ at: fc.nat(1200), pacer: fc.nat(2), key: fc.constantFrom('', 'k') })
      const latencies = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat(40), fc.nat(40))
      await fc.assert(
        fc.asyncProperty(
          fc.array(hold, { minLength: 1, maxLength: 4 }),
          fc.array(call, { minLength: 15, maxLength: 30 }),
          latencies,
          async (holds, calls, trips) => {
            const { timeline, pacers } = open(trips)(policy)
            const starts: { at: number; pacer: number }[] = []
            const events = [
              ...holds.map((each) => ({ at: each.at, run: () => pacers[each.pacer]!.hold(each.length) })),
              ...calls.map(({ at, pacer, key }) => ({
                at,
                run: () => {
                  const pace = key === '' ? pacers[pacer]! : pacers[pacer]!.key(key)
                  void pace.throttle(() => key === '' && starts.push({ at: timeline.now, pacer }))
                },
              })),
            ]
            for (const { at, run } of events.toSorted((a, b) => a.at - b.at)) {
              if (at > timeline.now) await timeline.pass(at - timeline.now)
              run()
            }
            await timeline.pass(60_000)
            expect(starts.length).toBe(calls.filter(({ key }) => key === '').length)
            for (const { at: from, pacer, length } of holds) {
              const trip = Math.max(...trips) + 2
              const early = starts.filter(
                ({ at, pacer: other }) => at >= from + (other === pacer ? 1 : trip) && at < from + length,
              )
              expect(early).toEqual([])
            }
          },
        ),
        { numRuns },
      )
    },
  )
})

test('a hold only extends: a shorter hold of another process changes nothing, a longer one does', async () => {
  const { timeline, pacers } = fleet(even)
  pacers[0]!.hold('1s')
  await timeline.pass(100)
  pacers[1]!.hold('200ms')
  await timeline.pass(400)
  timeline.write('A', pacers[2]!.acquire())
  await timeline.pass(100)
  pacers[1]!.hold('1s')
  expect(await timeline.read()).toMatch(/^A\+16\d\d$/)
})

test('the hold of a key leaves other keys alone', async () => {
  const { timeline, pacers } = fleet(even)
  pacers[0]!.key('a').hold('1s')
  await timeline.pass(20)
  timeline.write('A', pacers[1]!.key('a').acquire())
  timeline.write('B', pacers[1]!.key('b').acquire())
  timeline.write('C', pacers[1]!.acquire())
  expect(await timeline.read()).toMatch(/^B\+30 C\+30 A\+10\d\d$/)
})

test('a hold that is not shared holds one process only', async () => {
  const { timeline, pacers } = fleet(even)
  pacers[0]!.hold('1s', { shared: false })
  await timeline.pass(20)
  for (const [n, name] of [...'AB'].entries()) timeline.write(name, pacers[n]!.acquire())
  expect(await timeline.read()).toBe('B+30 A+1010')
})

test('a shared hold is told even during a longer hold of this process alone', async () => {
  const { timeline, pacers } = fleet(even)
  pacers[0]!.hold('2s', { shared: false })
  pacers[0]!.hold('1s')
  await timeline.pass(20)
  for (const [n, name] of [...'AB'].entries()) timeline.write(name, pacers[n]!.acquire())
  expect(await timeline.read()).toMatch(/^B\+10\d\d A\+20\d\d$/)
})

test.each(['local', 'open', 'closed'] as const)(
  'while the store fails (%s), the hold stays in its process',
  async (onStoreError) => {
    const { timeline, pacers, stores } = fleet(even, [10, 10], { onStoreError })
    for (const store of stores) store.failing = true
    pacers[0]!.hold('1s')
    await timeline.pass(20)
    for (const [n, name] of [...'AB'].entries()) timeline.write(name, pacers[n]!.acquire())
    const read = await timeline.read()
    if (onStoreError === 'closed')
      expect(read).toMatch(/^B!HEADGATE_STORE_UNAVAILABLE\+2\d A!HEADGATE_STORE_UNAVAILABLE\+1\d\d\d$/)
    else expect(read).toMatch(/^B\+2\d A\+1\d\d\d$/)
  },
)

test('when the store fails, booked calls start at their slots', async () => {
  for (const onStoreError of ['local', 'open', 'closed'] as const) {
    const { timeline, pacers, stores } = fleet(even, [10], { onStoreError })
    for (const name of 'ABCD') timeline.write(name, pacers[0]!.acquire())
    await timeline.pass(50)
    stores[0]!.failing = true
    expect(await timeline.read()).toBe('A+10 B+110 C+210 D+310')
  }
})

test('a store that does not answer delays booked calls once, by its timeout, and the calls keep their distance', async () => {
  const { timeline, pacers, stores } = fleet(even, [10], { storeTimeout: 150 })
  for (const name of 'ABCD') timeline.write(name, pacers[0]!.acquire())
  await timeline.pass(50)
  stores[0]!.silent = true
  expect(await timeline.read()).toBe('A+10 B+250 C+350 D+450')
})

test.each<[string, PolicyLike]>([
  ['even calls', even],
  ['Guava', smoothBursty({ rate: 10 })],
  ['a bucket', tokenBucket({ limit: 10, window: '1s', burst: 1 })],
])('a hold that ends while a store gives the slots back slowly stops nobody for ever: %s', async (_, policy) => {
  const timeline = new Timeline()
  const database = new Database(':memory:')
  const [slow, other] = [1, 2].map((each) => {
    const inner = sqliteStore({ database, clock: timeline.clock.now })
    const open: Store['open'] = (terms, joins) => {
      const ledger = inner.open(terms, joins)
      const run = ledger.run.bind(ledger) as Ledger['run']
      const slowly: Ledger['run'] = (command) => {
        if (each === 1 && command.verb === 'settle') timeline.clock.set(timeline.clock.milliseconds + 100)
        return run(command)
      }
      return Object.assign(ledger, { run: slowly })
    }
    return timeline.pacer(policy, { store: { ...inner, open }, name: 'slow' })
  }) as [Pacer, Pacer]
  for (const name of 'ABCDEF') timeline.write(name, slow.acquire())
  await timeline.pass(150)
  other.hold('300ms')
  const read = await timeline.read()
  expect(
    read
      .split(' ')
      .map((event) => event[0])
      .join(''),
  ).toBe('ABCDEF')
  expect(timeline.sleeps.size).toBe(0)
})

test('a signal, a timeout and tryAcquire end the wait in a hold of another process', async () => {
  const { timeline, pacers } = fleet(even)
  pacers[0]!.hold('1s')
  await timeline.pass(20)
  const controller = new AbortController()
  timeline.write('A', pacers[1]!.acquire(1, { signal: controller.signal }))
  timeline.write('B', pacers[1]!.acquire(1, { timeout: 300 }))
  timeline.write('C', pacers[2]!.tryAcquire())
  timeline.write('D', pacers[2]!.acquire())
  await timeline.pass(100)
  controller.abort('enough')
  expect(await timeline.read()).toMatch(/^B!HEADGATE_TIMEOUT\+30 C\+30=false A!enough\+120 D\+10\d\d$/)
  expect(timeline.sleeps.size).toBe(0)
})

test('reserve is refused during a hold of another process, and says how long', async () => {
  const { timeline, pacers } = fleet(even)
  pacers[0]!.hold('1s')
  await timeline.pass(20)
  const reserving = pacers[1]!.reserve()
  await timeline.pass(10)
  const { allowed, retryAfter } = await reserving
  expect([allowed, retryAfter]).toEqual([false, 980])
  timeline.write('A', pacers[1]!.acquire())
  expect(await timeline.read()).toMatch(/^A\+10\d\d$/)
})

test('calls that start at once ask nothing more, and calls that wait ask once each, or once in a round trip', async () => {
  const log = fleet(slidingLog({ limit: 100, window: '1s' }), [10])
  for (let n = 0; n < 100; n++) void log.pacers[0]!.acquire()
  await log.timeline.pass(100)
  expect(log.stores[0]!.calls).toBe(100)
  for (const [policy, questions] of [
    [even, 20],
    [gcra({ limit: 1000, window: '1s', burst: 1 }), 4],
  ] as const) {
    const { timeline, stores, pacers } = fleet(policy, [10])
    for (let n = 0; n < 20; n++) void pacers[0]!.acquire()
    await timeline.pass(5000)
    expect(stores[0]!.calls).toBeLessThanOrEqual(20 + questions)
  }
})

test.each([
  [['soon'], 'HEADGATE_OPTION'],
  [['1s', { shared: 1 }], 'HEADGATE_OPTION'],
  [['1s', { share: true }], 'HEADGATE_OPTION'],
])('hold(%j) throws %s', (given, code) => {
  const { pacers } = fleet(even)
  expect(() => pacers[0]!.hold(...(given as ['1s']))).toThrow(expect.objectContaining({ code }))
})
