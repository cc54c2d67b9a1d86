import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, type PolicyLike, slidingLog, smoothBursty, tokenBucket } from '../../src/index.ts'
import type { Pacer, PacerOptions } from '../../src/pacer/index.ts'
import type { Ledger } from '../../src/store.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* A start time that its call needs no more is used by the next call, or given back. Ten calls start in a second. */
const even = gcra({ limit: 10, window: '1s', burst: 1 })
const bursty = smoothBursty({ rate: 10 })

/** Pacers of one fleet, whose requests take `latency` milliseconds. */
function fleet(
  timeline: Timeline,
  policy: PolicyLike,
  size: number,
  latency: number,
  options: PacerOptions = {},
): Pacer[] {
  const server = new Map<string, Ledger>()
  return Array.from({ length: size }, () =>
    timeline.pacer(policy, { store: new LateStore(timeline, latency, server), ...options }),
  )
}

describe('calls at three times the rate', () => {
  /** Returns how many calls have started in ten seconds. */
  async function started(timeline: Timeline, pacers: readonly Pacer[], leaves: (n: number) => number): Promise<number> {
    const starts: number[] = []
    for (let n = 0; timeline.now < 10_000; n++) {
      const controller = new AbortController()
      const call = pacers[n % pacers.length]?.acquire(1, { signal: controller.signal })
      call?.then(
        () => starts.push(timeline.now),
        () => {},
      )
      timeline.sleeper(leaves(n), () => controller.abort('gone'))
      await timeline.pass(n % 3 === 0 ? 34 : 33)
    }
    const count = starts.length
    for (const pacer of pacers) pacer.close()
    await timeline.pass(5000)
    return count
  }

  const aborted = (n: number) => 70 + ((n * 37) % 180)
  test.each<[string, PolicyLike, number, number]>([
    ['gcra', even, 1, 4],
    ['gcra', even, 1, 30],
    ['gcra', even, 2, 10],
    ['smoothBursty', bursty, 1, 4],
    ['smoothBursty', bursty, 1, 30],
    ['smoothBursty', bursty, 2, 10],
    ['a log', slidingLog({ limit: 10, window: '1s' }), 2, 10],
  ])('%s: callers that abort leave the rate to the others (%#)', async (_, policy, size, latency) => {
    const timeline = new Timeline()
    const count = await started(timeline, fleet(timeline, policy, size, latency), aborted)
    expect(count).toBeGreaterThanOrEqual(95)
    expect(count).toBeLessThanOrEqual(111)
  })

  test.each<[string, 'newest' | 'oldest', PolicyLike]>([
    ['gcra', 'newest', even],
    ['gcra', 'oldest', even],
    ['smoothBursty', 'newest', bursty],
    ['smoothBursty', 'oldest', bursty],
  ])('%s: a full queue does not lower the rate, order: %s', async (_, order, policy) => {
    const timeline = new Timeline()
    const pacers = fleet(timeline, policy, 1, 40, { maxQueue: 3, order })
    expect(await started(timeline, pacers, () => 1e6)).toBeGreaterThanOrEqual(99)
  })
})

test.each([
  ['gcra', even],
  ['smoothBursty', bursty],
])('%s: a new call gets the time of a call that has left, without a request', async (_, policy) => {
  const timeline = new Timeline()
  const store = new LateStore(timeline, 10)
  const pacer = timeline.pacer(policy, { store, spacing: 'booked' })
  const controller = new AbortController()
  timeline.write('A', pacer.acquire())
  timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
  await timeline.pass(40)
  controller.abort('gone')
  const { calls } = store
  timeline.write('C', pacer.acquire())
  expect(store.calls).toBe(calls)
  expect(await timeline.read()).toMatch(/^A\+10 B!gone\+40 C\+1\d\d$/)
})

test('a new call does not get a time after its timeout, or of another cost', async () => {
  const timeline = new Timeline()
  const [pacer] = fleet(timeline, even, 1, 10) as [Pacer]
  const controller = new AbortController()
  timeline.write('A', pacer.acquire())
  timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
  await timeline.pass(20)
  controller.abort('gone')
  timeline.write('C', pacer.acquire(1, { timeout: 20 }))
  timeline.write('D', pacer.tryAcquire())
  expect(await timeline.read()).toBe('A+10 B!gone+20 C!HEADGATE_TIMEOUT+30 D+30=false')
})

test.each([
  ['gcra', even],
  ['smoothBursty', bursty],
])('%s: if no call comes, another process gets the time', async (_, policy) => {
  const timeline = new Timeline()
  const [one, other] = fleet(timeline, policy, 2, 10) as [Pacer, Pacer]
  const controller = new AbortController()
  const signal = { signal: controller.signal }
  timeline.write('A', one.acquire())
  for (const name of 'BCD') timeline.write(name, one.acquire(1, signal))
  await timeline.pass(30)
  controller.abort('gone')
  await timeline.pass(40)
  timeline.write('E', other.acquire())
  expect(await timeline.read()).toMatch(/ E\+1\d\d$/)
})

test('a queue with a time that nobody uses is removed after this time', async () => {
  const timeline = new Timeline()
  const [whole] = fleet(timeline, even, 1, 10) as [Pacer]
  const pacer = whole.key('ann')
  const controller = new AbortController()
  timeline.write('A', pacer.acquire())
  timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
  timeline.write('C', pacer.acquire(1, { signal: controller.signal }))
  await timeline.pass(15)
  controller.abort('gone')
  await timeline.read()
  expect([whole.keys, timeline.sleeps.size]).toEqual([0, 0])
})

test.each([
  ['a log', slidingLog({ limit: 10, window: '1s' }), 1],
  ['a log without a queue', slidingLog({ limit: 10, window: '1m' }), 0],
  ['even calls', even, 1],
])('%s: calls that find the queue full are refused while the store fails', async (_, policy, maxQueue) => {
  const timeline = new Timeline()
  const store = new LateStore(timeline, 10)
  const pacer = timeline.pacer(policy, { store, maxQueue })
  for (let n = 0; n < 10; n++) pacer.acquire().catch(() => {})
  await timeline.pass(2000)
  for (let n = 0; n < 10; n++) pacer.acquire().catch(() => {})
  await timeline.pass(20)
  store.failing = true
  const calls = [1, 2, 3, 4].map((n) => timeline.write(`${n}`, pacer.acquire()))
  await timeline.pass(50)
  const full = timeline.events.filter((event) => event.includes('HEADGATE_QUEUE_FULL'))
  expect(full.length).toBeGreaterThanOrEqual(calls.length - maxQueue)
})

test.each([
  ['a log', slidingLog({ limit: 100, window: '1m' }), 50, 50],
  ['a bucket', tokenBucket({ limit: 10, window: '1s', burst: 100 }), 100, 100],
])('%s: calls that need not wait start with maxQueue: 0', async (_, policy, calls, started) => {
  const timeline = new Timeline()
  const [pacer] = fleet(timeline, policy, 1, 10, { maxQueue: 0 }) as [Pacer]
  for (let n = 0; n < calls; n++) timeline.write('A', pacer.acquire())
  await timeline.pass(1000)
  expect(timeline.events.filter((event) => event.startsWith('A+'))).toHaveLength(started)
})

test.each(['before', 'after'])(
  'a call that comes %s an abort does not wait behind the time of an expensive call',
  async (order) => {
    const timeline = new Timeline()
    const [pacer] = fleet(timeline, tokenBucket({ limit: 150_000, window: '1m' }), 1, 10) as [Pacer]
    const controller = new AbortController()
    timeline.write('A', pacer.acquire(150_000))
    timeline.write('B', pacer.acquire(100_000, { signal: controller.signal }))
    await timeline.pass(20)
    if (order === 'before') timeline.write('C', pacer.acquire(1000))
    controller.abort('gone')
    await timeline.pass(0)
    if (order === 'after') timeline.write('C', pacer.acquire(1000))
    expect(await timeline.read()).toBe('A+10 B!gone+20 C+410')
  },
)

test.each([
  ['close', 'Q+110'],
  ['setRate', 'C+130'],
])('%s gives the times back at once', async (method, expected) => {
  const timeline = new Timeline()
  const policy = method === 'close' ? even : gcra({ limit: 1, window: '10s', burst: 1 })
  const [one, other] = fleet(timeline, policy, 2, 10) as [Pacer, Pacer]
  const controller = new AbortController()
  for (const name of 'ABBBB') timeline.write(name, one.acquire(1, name === 'B' ? { signal: controller.signal } : {}))
  await timeline.pass(20)
  if (method === 'close') {
    one.close()
    await timeline.pass(1)
    timeline.write('Q', other.acquire())
  } else {
    controller.abort('gone')
    one.setRate(100)
    timeline.write('C', one.acquire())
  }
  expect(await timeline.read()).toContain(expected)
})

test('calls that are refused at once do not keep the times that nobody uses', async () => {
  for (const policy of [even, bursty]) {
    const timeline = new Timeline()
    const [pacer] = fleet(timeline, policy, 1, 10) as [Pacer]
    const controller = new AbortController()
    for (let n = 0; n < 20; n++) pacer.acquire(1, { signal: controller.signal }).catch(() => {})
    timeline.sleeper(120, () => controller.abort('gone'))
    for (let n = 0; n < 100; n++) {
      timeline.write('T', pacer.tryAcquire())
      await timeline.pass(20)
    }
    expect(timeline.events.filter((event) => !event.endsWith('false')).length).toBeGreaterThan(15)
  }
})

test.each([
  ['a log', slidingLog({ limit: 100, window: '1s' })],
  ['a bucket', tokenBucket({ limit: 100, window: '1s' })],
  ['a window', fixedWindow({ limit: 100, window: '1s' })],
])('%s: expensive calls that are aborted do not starve the others', async (_, policy) => {
  const timeline = new Timeline()
  const [pacer] = fleet(timeline, policy, 1, 10) as [Pacer]
  let started = 0
  for (let n = 0; n < 900; n++) {
    pacer.acquire(1, { timeout: 300 }).then(
      () => started++,
      () => {},
    )
    if (n % 27 === 0) {
      const controller = new AbortController()
      pacer.acquire(30 + (n % 11), { signal: controller.signal }).catch(() => {})
      timeline.sleeper(60, () => controller.abort('gone'))
    }
    await timeline.pass(11)
  }
  expect(started).toBeGreaterThan(600)
})

test('close gives back the times of calls that were aborted before', async () => {
  const timeline = new Timeline()
  const [one, other] = fleet(timeline, even, 2, 10) as [Pacer, Pacer]
  const controller = new AbortController()
  for (let n = 0; n < 6; n++)
    one
      .key('ann')
      .acquire(1, { signal: controller.signal })
      .catch(() => {})
  await timeline.pass(50)
  controller.abort('gone')
  one.close()
  expect(one.keys).toBe(0)
  await timeline.pass(1)
  timeline.write('Q', other.key('ann').acquire())
  expect(await timeline.read()).toBe('Q+110')
})

test('calls of equal priority start in order while urgent calls take their slots', async () => {
  for (const latency of [10, 40]) {
    const timeline = new Timeline()
    const [pacer] = fleet(timeline, even, 1, latency, { horizon: '1s' }) as [Pacer]
    const started: number[][] = [[], [], []]
    for (let n = 0; n < 400; n++) {
      const priority = (n * n * 7 + n) % 5 === 1 ? 2 : n % 3 === 0 ? 1 : 0
      void pacer.acquire(1, { priority }).then(() => started[priority]?.push(n))
      await timeline.pass(59 + ((n * 13) % 11))
    }
    await timeline.pass(60_000)
    expect(started.flat()).toHaveLength(400)
    for (const numbers of started) expect(numbers).toEqual(numbers.toSorted((a, b) => a - b))
  }
})

test.each([
  ['gcra', gcra({ limit: 1, window: '1s', burst: 1 }), 3, 300],
  ['smoothBursty', smoothBursty({ rate: 1 }), 2, 100],
  ['a log', slidingLog({ limit: 1, window: '1s' }), 1, 100],
])(
  '%s: at a slow rate, a new call gets the time of the oldest one that it displaces',
  async (_, policy, size, every) => {
    const timeline = new Timeline()
    const pacers = fleet(timeline, policy, size, 10, { maxQueue: 1, order: 'oldest' })
    let started = 0
    while (timeline.now < 30_000) {
      for (const pacer of pacers) {
        pacer.acquire().then(
          () => started++,
          () => {},
        )
      }
      await timeline.pass(every)
    }
    expect(started).toBeGreaterThanOrEqual(29)
  },
)

describe('calls of different costs, at three times the rate', () => {
  test.each<[string, PolicyLike, number]>([
    ['smoothBursty', smoothBursty({ rate: 50 }), 1],
    ['smoothBursty', smoothBursty({ rate: 50 }), 2],
    ['a small bucket', tokenBucket({ limit: 50, window: '1s', burst: 5 }), 1],
    ['a small bucket', tokenBucket({ limit: 50, window: '1s', burst: 5 }), 2],
    ['a log', slidingLog({ limit: 50, window: '1s' }), 2],
    ['a window', fixedWindow({ limit: 50, window: '1s' }), 2],
  ])('%s: the units of calls that leave a full queue start other calls (%#)', async (_, policy, size) => {
    const timeline = new Timeline()
    const random = seededRandom(5)
    const pacers = fleet(timeline, policy, size, 4, { maxQueue: 20, order: 'oldest' })
    let units = 0
    for (let n = 0; timeline.now < 10_000; n++) {
      const cost = 1 + random(3)
      pacers[n % size]?.acquire(cost).then(
        () => (units += cost),
        () => {},
      )
      await timeline.pass(13)
    }
    expect(units).toBeGreaterThan(380) // of 500
    expect(units).toBeLessThanOrEqual(560)
    // No reserved times run ahead: the next call starts soon after the calls that wait.
    let started = false
    void pacers[0]?.acquire().then(() => (started = true))
    await timeline.pass(4000)
    expect(started).toBe(true)
  })

  test.each<[string, PolicyLike]>([
    ['smoothBursty', smoothBursty({ rate: 20 })],
    ['a small bucket', tokenBucket({ limit: 20, window: '1s', burst: 5 })],
  ])('%s: a refused function never comes back into a full queue', async (_, policy) => {
    for (const seed of [1, 2, 3]) {
      const timeline = new Timeline()
      const random = seededRandom(seed)
      const options = { maxQueue: 2, order: 'oldest', concurrency: 3, horizon: '100ms' } as const
      const [pacer] = fleet(timeline, policy, 1, 4, options) as [Pacer]
      while (timeline.now < 15_000) {
        for (let n = 0; n < 3; n++) pacer.throttle(() => {}, { cost: 1 + random(3) }).catch(() => {})
        await timeline.pass(10 + random(100))
      }
      const drained = pacer.drain()
      await timeline.pass(60_000)
      await drained
      expect([pacer.waiting, pacer.running]).toEqual([0, 0])
    }
  })

  test.each([
    [
      'a bucket, as far as they fit together',
      tokenBucket({ limit: 10, window: '1s', burst: 3 }),
      { C: 2, D: 2, E: 1, F: 1 },
      'A+10 B!gone+200 C+310 E+310 D+510 F+610',
    ],
    ['smoothBursty, one at a time', bursty, { C: 1, D: 2, E: 1, F: 1 }, 'A+10 B!gone+200 C+310 E+610 D+710 F+910'],
  ])('calls without a reserved time start first at a time that is spare: %s', async (_, policy, costs, expected) => {
    const timeline = new Timeline()
    const [pacer] = fleet(timeline, policy, 1, 10, { horizon: '500ms' }) as [Pacer]
    const controller = new AbortController()
    timeline.write('A', pacer.acquire(3))
    timeline.write('B', pacer.acquire(3, { signal: controller.signal }))
    for (const [name, cost] of Object.entries(costs)) timeline.write(name, pacer.acquire(cost))
    await timeline.pass(200)
    controller.abort('gone')
    expect(await timeline.read()).toBe(expected)
  })
})

describe('a log or a window, after a large call was aborted behind which others wait', () => {
  test.each([
    ['a log', slidingLog({ limit: 10, window: '1m' })],
    ['a window', fixedWindow({ limit: 10, window: '1m' })],
  ])('%s: the units that nobody uses at its time come back', async (_, policy) => {
    const timeline = new Timeline()
    const [pacer] = fleet(timeline, policy, 1, 10) as [Pacer]
    const controller = new AbortController()
    timeline.write('A', pacer.acquire(10))
    timeline.write('C', pacer.acquire(10, { signal: controller.signal }))
    timeline.write('B', pacer.acquire(1))
    await timeline.pass(2000)
    controller.abort('gone')
    await timeline.pass(60_000)
    timeline.events.length = 0
    for (const name of 'DE') timeline.write(name, pacer.acquire(1))
    expect(await timeline.read()).toBe('D+62010 E+62020')
  })

  test('the others do not wait for its time if units are free before', async () => {
    const timeline = new Timeline()
    const [pacer] = fleet(timeline, slidingLog({ limit: 10, window: '1m' }), 1, 10) as [Pacer]
    const controller = new AbortController()
    timeline.write('A', pacer.acquire(5))
    await timeline.pass(30_000)
    timeline.write('A', pacer.acquire(5))
    timeline.write('C', pacer.acquire(10, { signal: controller.signal }))
    for (const name of 'BBB') timeline.write(name, pacer.acquire(1))
    await timeline.pass(3000)
    controller.abort('gone')
    const starts = (await timeline.read()).split(' ').filter((event) => event.startsWith('B'))
    expect(starts).toHaveLength(3)
    for (const start of starts) expect(Number(start.slice(2))).toBeLessThanOrEqual(62_000)
  })

  test.each([
    ['a log', slidingLog({ limit: 10, window: '1m' })],
    ['a window', fixedWindow({ limit: 10, window: '1m' })],
  ])('%s: small calls do not go before a large one that came first or has a higher priority', async (_, policy) => {
    for (const [priority, at, expected] of [
      [5, 2500, /^A\+10 C!gone\+2500 L\+600\d\d$/],
      [0, 58_000, /^A\+10 C!gone\+58000 L\+61\d\d\d( S\+12\d\d\d\d){9}$/], // the time of C comes, and L does not fit
    ] as const) {
      const timeline = new Timeline()
      const [pacer] = fleet(timeline, policy, 1, 10) as [Pacer]
      const controller = new AbortController()
      timeline.write('A', pacer.acquire(10))
      timeline.write('C', pacer.acquire(9, { signal: controller.signal }))
      timeline.write('L', pacer.acquire(10, { priority }))
      for (let n = 0; n < 9; n++) timeline.write('S', pacer.acquire(1))
      await timeline.pass(at)
      controller.abort('gone')
      expect(await timeline.read()).toMatch(expected)
    }
  })

  test('another process gets its time as soon as nobody waits behind it', async () => {
    const timeline = new Timeline()
    const log = slidingLog({ limit: 10, window: '1s' })
    const [one, other] = fleet(timeline, log, 2, 10, { horizon: '600ms' }) as [Pacer, Pacer]
    const controller = new AbortController()
    timeline.write('A', one.acquire(10))
    for (const cost of [10, 1]) one.acquire(cost, { signal: controller.signal }).catch(() => {})
    await timeline.pass(200)
    controller.abort('gone')
    await timeline.pass(100)
    timeline.write('B', other.acquire(1))
    expect(await timeline.read()).toBe('A+10 B+1010')
  })
})
