import { beforeEach, describe, expect, test } from 'vitest'
import { fixedWindow, gcra, type PolicyLike, slidingLog, slidingWindow, smoothBursty } from '../../src/index.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* A request takes 10 ms to the store and 10 ms back, so slots come 20 ms late. */
let timeline: Timeline
let store: LateStore
beforeEach(() => {
  timeline = new Timeline()
  store = new LateStore(timeline, 20)
})
const even = gcra({ limit: 10, window: '1s', burst: 1 })

describe('a store that returns promises', () => {
  test.each([
    ['gcra', even, 'A+20 B+120 C+220 D+320'],
    ['smoothBursty', smoothBursty({ rate: 10 }), 'A+20 B+120 C+220 D+320'],
    ['slidingLog', slidingLog({ limit: 2, window: '1s' }), 'A+20 B+20 C+1020 D+1020'],
    ['slidingWindow, one request at a time', slidingWindow({ limit: 2, window: '1s' }), 'A+20 B+40 C+1530 D+2030'],
  ])('%s', async (_, policy, expected) => {
    const pacer = timeline.pacer(policy, { store })
    for (const name of 'ABCD') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe(expected)
    expect(timeline.sleeps.size).toBe(0)
    expect(store.calls).toBeLessThanOrEqual(7)
  })

  test('tryAcquire is not refused because of requests for other calls', async () => {
    const pacer = timeline.pacer(slidingWindow({ limit: 2, window: '1s' }), { store })
    for (const name of 'ABC') timeline.write(name, pacer.tryAcquire())
    expect(await timeline.read()).toBe('A+20 B+40 C+60=false')
  })

  test('maxQueue counts calls that wait, not those whose request is under way', async () => {
    const pacer = timeline.pacer(slidingLog({ limit: 3, window: '1s' }), { store, maxQueue: 1 })
    for (const name of 'ABCDE') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+20 B+20 C+20 E!HEADGATE_QUEUE_FULL+20 D+1020')
  })

  test.each<[string, PolicyLike, number, 'newest' | 'oldest', string, number]>([
    ['even calls', even, 2, 'newest', 'ABC', 5],
    ['even calls', even, 2, 'oldest', 'AGH', 5],
    ['a log', slidingLog({ limit: 1, window: '1s' }), 3, 'newest', 'ABCD', 4],
    ['a log', slidingLog({ limit: 1, window: '1s' }), 3, 'oldest', 'AFGH', 4],
    ['a log with room for all', slidingLog({ limit: 8, window: '1m' }), 1, 'newest', 'ABCDEFGH', 0],
    ['a log with room for all', slidingLog({ limit: 8, window: '1m' }), 1, 'oldest', 'ABCDEFGH', 0],
    ['a window', fixedWindow({ limit: 3, window: '10s' }), 2, 'newest', 'ABCDE', 3],
    ['a window', fixedWindow({ limit: 3, window: '10s' }), 2, 'oldest', 'ABCGH', 3],
  ])(
    '%s: a burst of eight calls is treated as on a memory store (%#)',
    async (_, policy, maxQueue, order, ran, refused) => {
      const pacer = timeline.pacer(policy, { store, maxQueue, order })
      for (const name of 'ABCDEFGH') timeline.write(name, pacer.acquire())
      const events = (await timeline.read()).split(' ')
      const isFull = (event: string) => event.includes('HEADGATE_QUEUE_FULL')
      expect(events.filter((event) => !isFull(event)).map(([name]) => name)).toEqual([...ran])
      expect(events.filter(isFull)).toHaveLength(refused)
    },
  )

  test('maxQueue holds while other calls keep asking the store', async () => {
    const pacer = timeline.pacer(even, { store, maxQueue: 2 })
    const codes: string[] = []
    for (let n = 0; n < 50; n++) {
      void pacer.acquire(1, { timeout: 60 }).catch(() => {})
      pacer.acquire().catch(({ code }) => codes.push(code))
      await timeline.pass(4)
    }
    expect(pacer.waiting).toBeLessThanOrEqual(4)
    expect(codes.length).toBeGreaterThan(35)
    expect(new Set(codes)).toEqual(new Set(['HEADGATE_QUEUE_FULL']))
    await timeline.read()
  })

  test('while a store hangs, calls beyond a bound are refused', async () => {
    const pacer = timeline.pacer(even, { store, maxQueue: 2 })
    store.silent = true
    let refused = 0
    for (let n = 0; n < 1100; n++) void pacer.acquire().catch(() => refused++)
    await timeline.pass(30)
    expect(refused).toBeGreaterThan(50)
    pacer.close()
  })

  test('a call that comes to a full queue waits if a place is free when the store answers', async () => {
    const pacer = timeline.pacer(even, { store, maxQueue: 2 })
    const controller = new AbortController()
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
    timeline.write('C', pacer.acquire())
    await timeline.pass(30)
    timeline.write('D', pacer.acquire())
    timeline.write('E', pacer.acquire())
    await timeline.pass(5)
    controller.abort('gone')
    expect(await timeline.read()).toBe('A+20 B!gone+35 E!HEADGATE_QUEUE_FULL+50 C+120 D+220')
  })

  test('a call that is aborted during its request gives its units back', async () => {
    for (const policy of [slidingLog({ limit: 1, window: '10s' }), slidingWindow({ limit: 1, window: '10s' })]) {
      const timeline = new Timeline()
      const pacer = timeline.pacer(policy, { store: new LateStore(timeline, 20) })
      const controller = new AbortController()
      timeline.write('A', pacer.acquire(1, { signal: controller.signal }))
      await timeline.pass(15)
      controller.abort('gone')
      await timeline.pass(100)
      timeline.write('B', pacer.acquire())
      expect(await timeline.read()).toBe('A!gone+15 B+135')
    }
  })

  test('a call whose request is under way when a pause begins is admitted after the pause', async () => {
    for (const policy of [even, slidingWindow({ limit: 10, window: '1s' })]) {
      const timeline = new Timeline()
      const pacer = timeline.pacer(policy, { store: new LateStore(timeline, 20) })
      timeline.write('A', pacer.acquire())
      await timeline.pass(15)
      pacer.pause()
      await timeline.pass(100)
      pacer.resume()
      expect(await timeline.read()).toMatch(/^A\+(135|145)$/)
    }
  })

  test('a store that fails refuses the call, and gets the request of the next one', async () => {
    for (const policy of [even, slidingWindow({ limit: 10, window: '1s' })]) {
      const timeline = new Timeline()
      const store = new LateStore(timeline, 20)
      const pacer = timeline.pacer(policy, { store, concurrency: 1, onStoreError: 'closed' })
      store.failing = true
      timeline.write(
        'A',
        pacer.throttle(() => 1),
      )
      timeline.write(
        'B',
        pacer.throttle(() => 1),
      )
      await timeline.pass(15)
      store.failing = false
      expect(await timeline.read()).toBe('A!HEADGATE_STORE_UNAVAILABLE+10 B+30')
      expect([pacer.running, pacer.waiting]).toEqual([0, 0])
    }
  })

  test('with a store that never responds, the call ends after storeTimeout', async () => {
    for (const policy of [even, slidingWindow({ limit: 10, window: '1s' })]) {
      const timeline = new Timeline()
      const store = new LateStore(timeline, 20)
      const pacer = timeline.pacer(policy, { store, storeTimeout: '2s', onStoreError: 'closed' })
      store.silent = true
      timeline.write('A', pacer.acquire())
      expect(await timeline.read()).toBe('A!HEADGATE_STORE_UNAVAILABLE+2000')
    }
  })

  test.each([
    ['fails', 'local', 'A+10 B+110 C+210'],
    ['fails', 'open', 'A+10 B+10 C+10'],
    ['is silent', 'local', 'A+2000 B+2100 C+2200'],
    ['is silent', 'open', 'A+2000 B+2000 C+2000'],
  ] as const)('a store that %s, with onStoreError: %s', async (how, onStoreError, expected) => {
    const pacer = timeline.pacer(even, { store, storeTimeout: '2s', onStoreError })
    store.failing = how === 'fails'
    store.silent = how === 'is silent'
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe(expected)
  })

  test('with several instances, each keeps its part of the pace', async () => {
    const pacer = timeline.pacer(even, { store, instances: 2 })
    store.failing = true
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+10 B+210 C+410')
  })

  test('a rate that is set during a failure applies after the slots that are booked locally', async () => {
    const pacer = timeline.pacer(even, { store })
    store.failing = true
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    await timeline.pass(50)
    pacer.setRate(20)
    timeline.write('D', pacer.acquire())
    expect(await timeline.read()).toBe('A+10 B+110 C+210 D+260')
  })

  test('settle and cancel end after storeTimeout if the store never responds', async () => {
    const pacer = timeline.pacer(even, { store, storeTimeout: '2s', onStoreError: 'closed' })
    const reservations = Promise.all([pacer.reserve(), pacer.reserve(), pacer.reserve()])
    await timeline.pass(20)
    const [more, less, none] = await reservations
    store.silent = true
    timeline.write('more', more.settle(2))
    timeline.write('less', less.settle(0))
    timeline.write('none', none.cancel())
    // Units that cannot be given back stay spent without an error. A charge that may be lost is an error.
    expect(await timeline.read()).toBe('more!HEADGATE_STORE_UNAVAILABLE+2020 less+2020 none+2020')
    expect(timeline.now).toBeGreaterThan(2020)
  })

  test('units of a response after storeTimeout are given back', async () => {
    const pacer = timeline.pacer(slidingLog({ limit: 1, window: '60s' }), {
      store,
      storeTimeout: 1000,
      onStoreError: 'closed',
    })
    store.latency = 5000
    timeline.write('A', pacer.acquire())
    await timeline.pass(8000)
    store.latency = 20
    timeline.write('B', pacer.acquire())
    expect(await timeline.read()).toBe('A!HEADGATE_STORE_UNAVAILABLE+1000 B+8020')
  })

  test('a new rate keeps booked slots, and later slots pay for them', async () => {
    const pacer = timeline.pacer(even, { store })
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    await timeline.pass(20)
    pacer.setRate(1)
    for (const name of 'D') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+20 B+120 C+220 D+2840')
  })
})

test('waitingBelow counts calls for which the store has not answered yet', async () => {
  const pacer = timeline.pacer(even, { store, maxQueue: 5 })
  let [made, refused] = [0, 0]
  void (async () => {
    for (; made < 20; made++) {
      await pacer.waitingBelow(5)
      pacer.acquire().catch(() => refused++)
    }
  })()
  await timeline.pass(25)
  expect(made).toBeLessThanOrEqual(6)
  await timeline.read()
  expect([made, refused]).toEqual([20, 0])
})

test.each([
  ['a window that is asked again', slidingWindow({ limit: 5, window: '1s' })],
  ['even calls', even],
])('drain waits for all calls, %s', async (_, policy) => {
  const pacer = timeline.pacer(policy, { store })
  let started = 0
  for (let n = 0; n < 12; n++) void pacer.acquire().then(() => started++)
  const drained = pacer.drain().then(() => started)
  await timeline.read()
  expect(await drained).toBe(12)
})

test.each<[string, PolicyLike | PolicyLike[]]>([
  ['a sliding window', slidingWindow({ limit: 10, window: '1s' })],
  ['two policies', [gcra({ limit: 10, window: '1s' }), fixedWindow({ limit: 600, window: '1m' })]],
])('the process that is nearest to the store leaves units to the others, %s', async (_, policy) => {
  const shared = new Map()
  const numbers = seededRandom(7)
  const random = () => numbers(1000) / 1000
  const started = [2, 4, 6].map((latency) => {
    const pacer = timeline.pacer(policy, { store: new LateStore(timeline, latency, shared), random })
    const starts = { count: 0 }
    const callAgain = async () => {
      for (;;) {
        await pacer.acquire()
        starts.count++
      }
    }
    for (let n = 0; n < 3; n++) void callAgain()
    return starts
  })
  await timeline.pass(30_000)
  const counts = started.map(({ count }) => count)
  expect(counts.reduce((sum, count) => sum + count)).toBeGreaterThan(265) // 300 at most, and the first window of a sliding one
  for (const count of counts) expect(count).toBeGreaterThan(40)
})

test('a call with a timeout is not late because its process leaves units to others', async () => {
  const pacer = timeline.pacer(slidingWindow({ limit: 2, window: '1s' }), { store, random: () => 0.999 })
  for (const name of 'AB') timeline.write(name, pacer.acquire())
  await timeline.pass(100)
  timeline.write('C', pacer.acquire(1, { timeout: 1440 }))
  expect(await timeline.read()).toBe('A+20 B+40 C+1534')
})

test('a call that a hold of another process pushes out of a full queue does not come back', async () => {
  const shared = new Map()
  const of = (options = {}) =>
    timeline.pacer(even, { store: new LateStore(timeline, 20, shared), name: 'p', ...options })
  const pacer = of({ maxQueue: 2, order: 'oldest', horizon: 100 })
  for (const name of 'ABC')
    timeline.write(
      name,
      pacer.throttle(() => {}),
    )
  await timeline.pass(102)
  of().hold('300ms')
  await timeline.pass(18)
  for (const name of 'UV')
    timeline.write(
      name,
      pacer.throttle(() => {}),
    )
  timeline.write('drained', pacer.drain())
  expect(await timeline.read()).toBe('A+20 B+120 C!HEADGATE_QUEUE_FULL+140 U+442 drained+542 V+542')
  expect([pacer.waiting, pacer.running, pacer.progress.admitted]).toEqual([0, 0, 4])
})

test('maxQueue bounds the calls of a policy that is asked again, also while the store admits', async () => {
  const policies = [slidingLog({ limit: 100_000, window: '1s' }), slidingLog({ limit: 100_000, window: '1m' })]
  const pacer = timeline.pacer(policies, { store, maxQueue: 10 })
  let [open, most, refused] = [0, 0, 0]
  for (let n = 0; n < 900; n++) {
    most = Math.max(most, ++open)
    pacer.acquire().then(
      () => open--,
      ({ code }) => {
        expect(code).toBe('HEADGATE_QUEUE_FULL')
        refused++
        open--
      },
    )
    if (n % 4 === 0) await timeline.pass(20)
  }
  expect(most).toBeLessThanOrEqual(114) // 100 that the store may be asked about, 10 that wait, 4 new ones
  expect(refused).toBeGreaterThan(500)
  await timeline.read()
  expect([open, pacer.waiting]).toEqual([0, 0])
})

test('units that were used before setRate still count when booked units are given back', async () => {
  const pacer = timeline.pacer(slidingLog({ limit: 10, window: '1s' }), { store })
  for (let n = 0; n < 10; n++) timeline.write('A', pacer.acquire())
  for (let n = 0; n < 5; n++) timeline.write('B', pacer.acquire())
  await timeline.pass(150)
  pacer.setRate(5)
  timeline.write('C', pacer.acquire())
  await timeline.pass(50)
  pacer.hold(100)
  await timeline.read()
  expect(timeline.events.filter((event) => !event.startsWith('A')).map((event) => Number(event.slice(2)))).toEqual([
    1020, 1020, 1020, 1020, 1020, 2020,
  ])
})

test('units that were used before setRate still count after a lower rate, under which a call was booked and left', async () => {
  const pacer = timeline.pacer(slidingLog({ limit: 10, window: '1s' }), { store })
  for (let n = 0; n < 9; n++) {
    timeline.write('A', pacer.acquire())
    await timeline.pass(30)
  }
  pacer.setRate(2)
  const leaving = new AbortController()
  timeline.write('B', pacer.acquire(1, { signal: leaving.signal }))
  await timeline.pass(50)
  leaving.abort()
  await timeline.pass(50)
  pacer.setRate(10)
  for (let n = 0; n < 3; n++) timeline.write('C', pacer.acquire())
  await timeline.read()
  const starts = timeline.events.filter((event) => /^[AC]/.test(event)).map((event) => Number(event.slice(2)))
  expect(starts.slice(10)).toEqual([1020, 1050])
  expect(starts[9]).toBeLessThan(1000)
})
