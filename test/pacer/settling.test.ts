import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, type Policy, slidingLog, smoothBursty, tokenBucket } from '../../src/index.ts'
import { rounds } from '../support/depth.ts'
import { seededRandom } from '../support/seeded-random.ts'
import { Timeline } from './timeline.ts'

/* What calls that leave give back: exactly what they took, in any order. */

const policies: [string, Policy][] = [
  ['gcra', gcra({ limit: 10, window: '1s', burst: 1 })],
  ['tokenBucket', tokenBucket({ limit: 10, window: '1s' })],
  ['interval', tokenBucket({ limit: 10, window: '1s', refill: 'interval' })],
  ['fixedWindow', fixedWindow({ limit: 10, window: '1s' })],
  ['slidingLog', slidingLog({ limit: 10, window: '1s' })],
  ['smoothBursty', smoothBursty({ rate: 10, maxStored: 0 })],
]

test('a call of 8 that leaves a fixed window gives all back', async () => {
  const timeline = new Timeline()
  const pacer = timeline.pacer('10/1s fixed-window')
  await pacer.acquire(9)
  const controller = new AbortController()
  timeline.write('large', pacer.acquire(8, { signal: controller.signal }))
  controller.abort('gone')
  await timeline.pass(0)
  expect([await pacer.tryAcquire(), await pacer.tryAcquire()]).toEqual([true, false])
  expect(await timeline.read()).toBe('large!gone+0')
})

const many = rounds(1000, 3000)

describe.each(policies)('%s', (_, policy) => {
  /** The times of 5 calls, after others have come and gone. */
  async function times(leave: (timeline: Timeline, pacer: ReturnType<Timeline['pacer']>) => Promise<void>) {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    for (let n = 0; n < 10; n++) timeline.write('first', pacer.acquire())
    await leave(timeline, pacer)
    for (const name of 'ABCDE') timeline.write(name, pacer.acquire())
    const text = await timeline.read()
    expect([pacer.waiting, pacer.running, timeline.sleeps.size]).toEqual([0, 0, 0])
    return text
  }

  test('calls that leave in any order free their slots', async () => {
    const expected = await times(async () => {})
    for (const order of [0, 1, 2]) {
      const found = await times(async (_, pacer) => {
        const random = seededRandom(order)
        const leaving = Array.from({ length: rounds(200, 1000) }, () => new AbortController())
        for (const { signal } of leaving) pacer.acquire(1, { signal }).catch(() => undefined)
        if (order === 1) leaving.reverse()
        if (order === 2) leaving.sort(() => random(3) - 1)
        for (const controller of leaving) controller.abort()
      })
      expect(found).toBe(expected)
    }
  })

  test.each([
    ['a pause', (pacer: ReturnType<Timeline['pacer']>) => pacer.pause()],
    ['a hold', (pacer: ReturnType<Timeline['pacer']>) => pacer.hold('1ms')],
  ])('%s keeps the times of a thousand calls and more', async (_, stop) => {
    const run = async (stopped: boolean) => {
      const timeline = new Timeline()
      const pacer = timeline.pacer(policy)
      const times: number[] = []
      for (let n = 0; n < many; n++) void pacer.acquire().then(() => times.push(timeline.now))
      if (stopped) {
        stop(pacer)
        await timeline.pass(1)
        pacer.resume()
      }
      await timeline.pass(400_000)
      expect([pacer.waiting, timeline.sleeps.size]).toEqual([0, 0])
      return times
    }
    const [kept, expected] = [await run(true), await run(false)]
    expect(kept).toHaveLength(many)
    // Those that had gone have gone. Nothing is lost or gained by booking the others again.
    expect(kept.filter((time) => time > 1)).toEqual(expected.filter((time) => time > 1))
  })

  test('close gives back all that a thousand calls and more had booked', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    let closed = 0
    for (let n = 0; n < many; n++) pacer.acquire().catch(() => closed++)
    const last = await pacer.reserve()
    await last.cancel()
    pacer.close()
    await timeline.pass(0)
    expect(closed).toBeGreaterThanOrEqual(many - 10)
    expect([pacer.waiting, timeline.sleeps.size]).toEqual([0, 0])
  })
})

test('what a reservation gives back can be taken at once, whatever came later', async () => {
  const timeline = new Timeline()
  const pacer = timeline.pacer('100/1h fixed-window')
  const all = [await pacer.reserve(30), await pacer.reserve(40), await pacer.reserve(30)]
  await all[1]?.settle(5)
  await all[0]?.cancel()
  await all[2]?.settle(31)
  expect([await pacer.tryAcquire(65), await pacer.tryAcquire()]).toEqual([false, true])
  expect([await pacer.tryAcquire(64), await pacer.tryAcquire(63)]).toEqual([false, true])
})

test('after a new rate, what earlier calls took is given back all the same', async () => {
  const timeline = new Timeline()
  const pacer = timeline.pacer('10/1h fixed-window')
  const before = await pacer.reserve(10)
  pacer.setRate(20)
  await before.settle(4)
  expect([await pacer.tryAcquire(17), await pacer.tryAcquire(16)]).toEqual([false, true])
})
