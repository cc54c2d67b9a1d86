import { describe, expect, test } from 'vitest'
import {
  fixedWindow,
  gcra,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  smoothBursty,
  smoothWarmingUp,
  tokenBucket,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { Timeline } from './timeline.ts'

const names = [...'ABCDEFGHIJ']

describe('a queue of ten calls, by algorithm', () => {
  const policies = {
    'smoothBursty, nothing stored': [
      smoothBursty({ rate: 5, maxBurst: '1s' }),
      'A+0 B+200 C+400 D+600 E+800 F+1000 G+1200 H+1400 I+1600 J+1800',
    ],
    'smoothWarmingUp, cold': [
      smoothWarmingUp({ rate: 2, warmup: '4s' }),
      'A+0 B+1375 C+2500 D+3375 E+4000 F+4500 G+5000 H+5500 I+6000 J+6500',
    ],
    'gcra, burst 1': [
      gcra({ limit: 5, window: '1s', burst: 1 }),
      'A+0 B+200 C+400 D+600 E+800 F+1000 G+1200 H+1400 I+1600 J+1800',
    ],
    tokenBucket: [
      tokenBucket({ limit: 5, window: '1s', burst: 3 }),
      'A+0 B+0 C+0 D+200 E+400 F+600 G+800 H+1000 I+1200 J+1400',
    ],
    'slidingLog: a burst is admitted at once': [
      slidingLog({ limit: 3, window: '1s' }),
      'A+0 B+0 C+0 D+1000 E+1000 F+1000 G+2000 H+2000 I+2000 J+3000',
    ],
    fixedWindow: [fixedWindow({ limit: 4, window: '1s' }), 'A+0 B+0 C+0 D+0 E+1000 F+1000 G+1000 H+1000 I+2000 J+2000'],
    'slidingWindow: the store is asked again': [
      slidingWindow({ limit: 4, window: '1s' }),
      'A+0 B+0 C+0 D+0 E+1250 F+1500 G+1750 H+2000 I+2334 J+2667',
    ],
    'segmentedWindow: the store is asked again': [
      segmentedWindow({ limit: 4, window: '1s', segments: 4 }),
      'A+0 B+0 C+0 D+0 E+1250 F+1250 G+1250 H+1250 I+2500 J+2500',
    ],
  } as const

  test.each(Object.entries(policies))('%s', async (_, [policy, expected]) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    for (const name of names) timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe(expected)
    expect(timeline.mostSleeps).toBe(1)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('a slot comes at its microsecond', async () => {
    const timeline = new Timeline(0)
    const pacer = timeline.pacer(gcra({ limit: 10, window: '1s', burst: 1 }))
    timeline.clock.set(0.4)
    const all = [pacer.key('a').acquire(), pacer.key('b').acquire(), pacer.key('b').acquire()]
    timeline.clock.set(0.7)
    timeline.write('A', pacer.key('a').acquire())
    const { wait, at } = await pacer.key('a').reserve()
    expect([wait, at]).toEqual([200, 201]) // 199.7 ms after 0.7 ms
    expect(await timeline.read(100)).toBe('A+100.4')
    await Promise.all(all)
  })

  test('several policies: a call waits for all of them', async () => {
    const timeline = new Timeline()
    const pacer = new Pacer({
      policies: [gcra({ name: 'rate', limit: 10, window: '1s', burst: 2 }), fixedWindow({ limit: 4, window: '1m' })],
      clock: timeline.clock.now,
      sleeper: timeline.sleeper,
    })
    for (const name of names) timeline.write(name, pacer.acquire())
    expect(await timeline.read(120_000)).toBe('A+0 B+0 C+100 D+200 E+60000 F+60000 G+60100 H+60200 I+120000 J+120000')
  })
})

describe('Guava limiters', () => {
  test('a large call is admitted at once, and the next one waits for it', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 1 }))
    timeline.write('A', pacer.acquire(5))
    timeline.write('B', pacer.acquire(1))
    timeline.write('C', pacer.acquire(1))
    expect(await timeline.read()).toBe('A+0 B+5000 C+6000')
  })

  test('idle time counts from when the pacer is made', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 5, maxBurst: '1s' }))
    await timeline.pass(10_000)
    for (const name of 'ABCDEFG') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+10000 B+10000 C+10000 D+10000 E+10000 F+10000 G+10200')
  })

  test('with maxStored: 0, idle time changes nothing', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 5, maxStored: 0 }))
    await timeline.pass(10_000)
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+10000 B+10200 C+10400')
  })

  test('a new rate keeps the waits that were promised, and applies after them', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 1 }))
    expect(pacer.getRate()).toBe(1)
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    pacer.setRate(10)
    expect(pacer.getRate()).toBe(10)
    for (const name of 'DEF') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+0 B+1000 C+2000 D+3000 E+3100 F+3200')
  })
})

describe('acquire', () => {
  test('it resolves with the milliseconds waited', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 5 }))
    const waits = Promise.all([pacer.acquire(), pacer.acquire(2), pacer.acquire()])
    await timeline.pass(1000)
    expect(await waits).toEqual([0, 200, 600])
  })

  test('it can wait longer than the longest timer', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(fixedWindow({ limit: 1, window: '60d', align: 'first-request' }))
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire())
    expect(await timeline.read(61 * 86_400_000)).toBe(`A+0 B+${60 * 86_400_000}`)
    expect(timeline.longestSleep).toBe(2 ** 31 - 1)
  })

  test('a cost that can never be admitted is refused at once', async () => {
    const timeline = new Timeline()
    const bucket = timeline.pacer(tokenBucket({ limit: 5, window: '1s' }))
    const window = timeline.pacer(slidingWindow({ limit: 5, window: '1s' }))
    timeline.write('A', bucket.acquire(6))
    timeline.write('B', window.acquire(6))
    timeline.write('C', window.acquire(1))
    expect(await timeline.read(0)).toBe('A!HEADGATE_COST+0 B!HEADGATE_COST+0 C+0')
  })

  test.each([0, -1, 1.5, Number.NaN, '2' as never])('a cost of %s is refused', async (cost) => {
    await expect(new Pacer('5/1s').acquire(cost)).rejects.toMatchObject({ code: 'HEADGATE_COST' })
  })

  test('an aborted call leaves its slot to the waiters behind it, and no timer is left', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 5 }))
    const controller = new AbortController()
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire(1, { signal: controller.signal }))
    timeline.write('C', pacer.acquire())
    await timeline.pass(100)
    controller.abort(new Error('enough'))
    timeline.write('D', pacer.acquire())
    expect(await timeline.read()).toBe('A+0 B!enough+100 C+200 D+400')
    expect(timeline.sleeps.size).toBe(0)
  })

  test('an aborted call that waited alone leaves no timer and takes no units', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 1 }))
    await pacer.acquire()
    const controller = new AbortController()
    timeline.write('B', pacer.acquire(5, { signal: controller.signal }))
    controller.abort('gone')
    expect(timeline.sleeps.size).toBe(0)
    timeline.write('C', pacer.acquire())
    timeline.write('D', pacer.acquire())
    expect(await timeline.read()).toBe('B!gone+0 C+1000 D+2000')
    await expect(pacer.acquire(1, { signal: AbortSignal.abort('before') })).rejects.toBe('before')
  })

  test('a call that would wait longer than its timeout is refused at once', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 1 }))
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire(1, { timeout: 999 }))
    timeline.write('C', pacer.acquire(1, { timeout: 1000 }))
    timeline.write('D', pacer.tryAcquire(1, { timeout: '1999ms' }))
    timeline.write('E', pacer.tryAcquire(1, { timeout: '2s' }))
    timeline.write('F', pacer.tryAcquire())
    expect(await timeline.read()).toBe('A+0 B!HEADGATE_TIMEOUT+0 D+0=false F+0=false C+1000 E+2000')
  })

  test('without future times, tryAcquire is false at once if the store refuses for longer, else at its timeout', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(slidingWindow({ limit: 2, window: '1s' }))
    for (const name of 'AB') timeline.write(name, pacer.tryAcquire())
    timeline.write('C', pacer.tryAcquire(1, { timeout: 1499 }))
    timeline.write('D', pacer.acquire(1))
    timeline.write('E', pacer.tryAcquire())
    timeline.write('F', pacer.tryAcquire(1, { timeout: 1600 }))
    expect(await timeline.read()).toBe('A+0 B+0 C+0=false E+0=false D+1500 F+1500=false')
    expect(timeline.sleeps.size).toBe(0)
  })
})

test.each([5000, '2s', null])('tryAcquire rejects %j in place of options', async (options) => {
  await expect(new Pacer('1/1s').tryAcquire(1, options as never)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
})
