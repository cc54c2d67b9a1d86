import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, slidingLog, slidingWindow, smoothBursty, tokenBucket } from '../../src/index.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/** `spacing: 'actual'`: calls that go late keep the policy by the times at which they went. */
const actual = { spacing: 'actual' } as const

describe('calls behind a late one', () => {
  const even = gcra({ limit: 10, window: '1s', burst: 1 })
  const bucket = tokenBucket({ limit: 10, window: '1s', burst: 3 })

  /** A to F come at 0, and no timer fires before 170 ms. */
  test.each([
    ['booked', 'a bucket, burst 1', even, 'A+0 B+170 C+200 D+300 E+400 F+500'],
    ['actual', 'a bucket, burst 1', even, 'A+0 B+170 C+270 D+370 E+470 F+570'],
    ['booked', 'a bucket, burst 3', bucket, 'A+0 B+0 C+0 D+170 E+200 F+300'],
    ['actual', 'a bucket, burst 3', bucket, 'A+0 B+0 C+0 D+170 E+200 F+300'],
    ['booked', 'Guava', smoothBursty({ rate: 10, maxStored: 0 }), 'A+0 B+170 C+200 D+300 E+400 F+500'],
    ['actual', 'Guava', smoothBursty({ rate: 10, maxStored: 0 }), 'A+0 B+170 C+270 D+370 E+470 F+570'],
    ['booked', 'a log', slidingLog({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+200 F+200'],
    ['actual', 'a log', slidingLog({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+270 F+270'],
    ['booked', 'clock windows', fixedWindow({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+200 F+200'],
    ['actual', 'clock windows', fixedWindow({ limit: 2, window: '100ms' }), 'A+0 B+0 C+170 D+170 E+200 F+200'],
  ] as const)('%s, %s', async (spacing, _, policy, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy, { spacing })
    for (const name of 'ABCDEF') timeline.write(name, pacer.acquire())
    await timeline.pass(0)
    timeline.clock.set(timeline.start + 170)
    expect(await timeline.read()).toBe(expected)
    expect(timeline.sleeps.size).toBe(0)
    expect(timeline.mostSleeps).toBe(1)
  })

  /** A to F come at 0, B to D with rising priorities, so B to D have slots and E and F wait. No timer fires before `busy`. */
  test.each([
    [130, 'A+0 D+130 C+230 B+330 E+430 F+530'],
    [250, 'A+0 D+250 C+350 B+450 E+550 F+650'],
  ])('on a shared store, calls wait without a busy loop for calls that are late at %s ms', async (busy, expected) => {
    const timeline = new Timeline()
    let reads = 0
    const clock = () => {
      if (++reads > 10_000) throw new Error('The pacer reads the clock again and again.')
      return timeline.clock.now()
    }
    const pacer = timeline.pacer(even, { ...actual, clock, horizon: 50, store: new LateStore(timeline, 0) })
    const priorities = { A: 0, B: 1, C: 2, D: 3, E: 0, F: 0 }
    for (const [name, priority] of Object.entries(priorities)) timeline.write(name, pacer.acquire(1, { priority }))
    await timeline.pass(10)
    timeline.clock.set(timeline.start + busy)
    expect(await timeline.read(2000)).toBe(expected)
  })

  test.each([
    ['a bucket', even, 'A+0 B+0=false C+50 D+150'],
    ['Guava', smoothBursty({ rate: 10, maxStored: 0 }), 'A+0 B+0=false C+50 D+150'],
    ['a log', slidingLog({ limit: 1, window: '10s' }), 'A+0 B+0=false C+50 D+10050'],
    ['a window that is asked again', slidingWindow({ limit: 1, window: '10s' }), 'A+0 B+0=false C+50 D+20000'],
  ] as const)('reset gives the full quota back, %s', async (_, policy, expected) => {
    for (const store of [undefined, 'shared']) {
      const timeline = new Timeline()
      const shared = store && { store: new LateStore(timeline, 0) }
      const pacer = timeline.pacer(policy, { ...actual, ...shared })
      timeline.write('A', pacer.acquire())
      timeline.write('B', pacer.tryAcquire())
      await timeline.pass(50)
      await Promise.all([pacer.reset(), timeline.pass(0)])
      for (const name of 'CD') timeline.write(name, pacer.acquire())
      expect(await timeline.read()).toBe(expected)
    }
  })

  test('a function that runs long before its first await goes when that ends', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    timeline.write(
      'A',
      pacer.throttle(() => timeline.clock.set(timeline.start + 40)),
    )
    for (const name of 'BC')
      timeline.write(
        name,
        pacer.throttle(() => undefined),
      )
    expect(await timeline.read()).toBe('A+40 B+140 C+240')
  })

  test('a function that throws has gone too', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    const fail = () => {
      throw new Error('no')
    }
    timeline.write('A', pacer.throttle(fail))
    timeline.write('B', pacer.throttle(fail))
    expect(await timeline.read()).toBe('A!no+0 B!no+100')
    await pacer.drain()
  })

  test.each([
    [true, 'A+0 B+190 C!left+250 D+290 E+390'],
    [false, 'A+0 B+190 C+290 D!HEADGATE_TIMEOUT+300 E+390'],
  ])('a call that leaves gives its place to those behind it (%s)', async (leaves, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    const controller = new AbortController()
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire())
    timeline.write('C', pacer.acquire(1, { signal: controller.signal }))
    timeline.write('D', pacer.acquire(1, { timeout: 300 }))
    timeline.write('E', pacer.acquire())
    await timeline.pass(0)
    timeline.clock.set(timeline.start + 190)
    await timeline.pass(60)
    if (leaves) controller.abort('left')
    expect(await timeline.read()).toBe(expected)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('a call that must not wait is refused at once', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(tokenBucket({ limit: 10, window: '1s', burst: 2 }), actual)
    timeline.write('A', pacer.tryAcquire())
    timeline.write('B', pacer.tryAcquire())
    timeline.write('C', pacer.tryAcquire())
    timeline.write(
      'D',
      pacer.tryAcquire(3).catch(() => 'never'),
    )
    await timeline.pass(0)
    expect(timeline.events.toSorted()).toEqual(['A+0', 'B+0', 'C+0=false', 'D+0'])
  })

  test('pause, hold, a new rate and close keep no slot and no timer', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, actual)
    for (const name of 'ABCDEF') timeline.write(name, pacer.acquire())
    await timeline.pass(0)
    timeline.clock.set(timeline.start + 190)
    await timeline.pass(50)
    pacer.pause()
    expect(timeline.sleeps.size).toBe(0)
    await timeline.pass(10)
    pacer.resume()
    pacer.hold('60ms')
    await timeline.pass(65)
    pacer.setRate(20)
    await timeline.pass(100)
    pacer.close()
    expect(timeline.sleeps.size).toBe(0)
    expect(await timeline.read()).toBe('A+0 B+190 C+310 D+410 E!HEADGATE_CLOSED+415 F!HEADGATE_CLOSED+415')
  })
})
