import { channel } from 'node:diagnostics_channel'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { forgetWarnings } from '../../src/common/warn.ts'
import { fixedWindow, gcra, slidingLog, slidingWindow, smoothBursty } from '../../src/index.ts'
import { Pacer, type Progress } from '../../src/pacer/index.ts'
import { settle, Timeline } from './timeline.ts'

const even = gcra({ limit: 10, window: '1s', burst: 1 })

describe('reserve', () => {
  test('it says the wait and the time to act, and does not wait itself', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 5 }))
    const first = await pacer.reserve(3)
    const second = await pacer.reserve()
    expect([first.wait, second.wait, second.at - timeline.start]).toEqual([0, 600, 600])
    expect(timeline.sleeps.size).toBe(0)
  })

  test.each([
    ['smoothBursty', smoothBursty({ rate: 10 })],
    ['gcra', even],
    ['slidingLog', slidingLog({ limit: 1, window: 100 })],
    ['fixedWindow', fixedWindow({ limit: 1, window: 100 })],
  ])('%s: the last reservations give all back, and one that later slots rely on stays spent', async (_, policy) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    const [, b, c, d] = [await pacer.reserve(), await pacer.reserve(), await pacer.reserve(), await pacer.reserve()]
    expect([b?.wait, c?.wait, d?.wait]).toEqual([100, 200, 300])
    await d?.cancel()
    await d?.cancel()
    await c?.cancel()
    const again = await pacer.reserve()
    expect(again.wait).toBe(200)
    await b?.cancel() // the slot at 200 is promised already, so this one stays spent
    expect((await pacer.reserve()).wait).toBe(300)
  })

  test('settle and cancel work when they are read from the reservation', async () => {
    const pacer = new Timeline().pacer(slidingLog({ limit: 3, window: '1s' }))
    const { settle: correct } = await pacer.reserve(1)
    await correct(2)
    const { cancel } = await pacer.reserve(1)
    expect((await pacer.reserve(1, { maxWait: 0 })).allowed).toBe(false)
    await cancel()
    expect((await pacer.reserve(1, { maxWait: 0 })).allowed).toBe(true)
  })

  test('settle corrects the cost', async () => {
    for (const policy of [smoothBursty({ rate: 10 }), gcra({ limit: 10, window: '1s', burst: 100 })]) {
      const timeline = new Timeline()
      const pacer = timeline.pacer(policy)
      await (await pacer.reserve(100)).settle(10)
      const more = await pacer.reserve(1)
      await more.settle(3)
      await expect(more.settle(-1)).rejects.toMatchObject({ code: 'HEADGATE_COST' })
      const { wait } = await pacer.reserve(90)
      expect(wait).toBe(policy.burst === 100 ? 300 : 1300)
    }
  })

  test('it is refused if the wait is too long, in a hold or a pause, and if no future time can be promised', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    await pacer.acquire()
    const late = await pacer.reserve(1, { maxWait: 99 })
    expect([late.allowed, late.wait, late.retryAfter]).toEqual([false, Infinity, 100])
    await late.cancel()
    pacer.hold('1s')
    expect((await pacer.reserve()).retryAfter).toBe(1000)
    pacer.pause()
    expect((await pacer.reserve()).retryAfter).toBe(Infinity)
    const window = timeline.pacer(slidingWindow({ limit: 1, window: '1s' }))
    const now = await window.reserve()
    expect([now.allowed, now.wait]).toEqual([true, 0])
    expect((await window.reserve()).retryAfter).toBe(2000)
    await now.cancel()
    expect((await window.reserve()).allowed).toBe(true)
  })
})

describe('setRate', () => {
  test.each([
    ['smoothBursty', smoothBursty({ rate: 2 }), 'A+0 B+500 C+1000 D+1500 E+1600'],
    ['gcra', gcra({ limit: 2, window: '1s', burst: 1 }), 'A+0 B+500 C+1000 D+1100 E+1200'],
    ['fixedWindow', fixedWindow({ limit: 1, window: '1s' }), 'A+0 B+1000 C+2000 D+2000 E+2000'],
    ['slidingLog', slidingLog({ limit: 1, window: '1s' }), 'A+0 B+1000 C+2000 D+2000 E+2000'],
  ])('%s, raised: booked slots are kept, and later calls come after them', async (_, policy, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    pacer.setRate(10)
    for (const name of 'DE') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe(expected)
  })

  test.each([
    ['smoothBursty', smoothBursty({ rate: 10 }), 'A+0 B+100 C+200 D+300 E+1300'],
    ['gcra', even, 'A+0 B+100 C+200 D+3000 E+4000'],
    ['fixedWindow', fixedWindow({ limit: 2, window: '1s' }), 'A+0 B+0 C+1000 D+3000 E+4000'],
    ['slidingLog', slidingLog({ limit: 2, window: '1s' }), 'A+0 B+0 C+1000 D+2000 E+3000'],
  ])('%s, lowered: booked slots are kept, and later calls pay for them', async (_, policy, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    pacer.setRate(1)
    for (const name of 'DE') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe(expected)
  })

  test('a rate is in units a window, and an invalid one is refused', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    expect(pacer.getRate()).toBe(10)
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    pacer.setRate(100)
    for (const name of 'DE') timeline.write(name, pacer.acquire())
    expect(await timeline.read()).toBe('A+0 B+100 C+200 D+210 E+220')
    for (const wrong of [-1, 1.5, Number.NaN])
      expect(() => pacer.setRate(wrong)).toThrow(expect.objectContaining({ code: 'HEADGATE_LIMIT' }))
    expect(() => pacer.setRate(0)).toThrow(expect.objectContaining({ code: 'HEADGATE_RATE' }))
    expect(() => new Pacer(smoothBursty({ rate: 1 })).setRate(0)).toThrow(
      expect.objectContaining({ code: 'HEADGATE_RATE' }),
    )
    expect(() => new Pacer({ policies: ['1/1s', '10/1m'] }).getRate()).toThrow(
      expect.objectContaining({ code: 'HEADGATE_RATE' }),
    )
  })

  test('a higher rate admits calls sooner that have no booked slot', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(slidingWindow({ limit: 1, window: '1s' }))
    for (const name of 'ABC') timeline.write(name, pacer.acquire())
    await timeline.pass(100)
    pacer.setRate(3)
    expect(await timeline.read()).toBe('A+0 B+100 C+100')
  })
})

describe('observability', () => {
  test('channels and progress report queue length, waits and rate', async () => {
    const timeline = new Timeline()
    const seen: unknown[] = []
    const steps: Progress[] = []
    const note = (message: unknown, name: string | symbol) => seen.push([String(name).split(':')[2], message])
    const names = ['queued', 'admitted', 'refused', 'rate'].map((name) => `headgate:pacer:${name}`)
    for (const name of names) channel(name).subscribe(note)
    const pacer = timeline.pacer(even, { name: 'api', onProgress: (progress) => steps.push(progress) })
    for (const name of 'AB') timeline.write(name, pacer.key('k').acquire())
    timeline.write('C', pacer.tryAcquire(2))
    expect(pacer.waiting).toBe(1)
    await timeline.read()
    pacer.setRate(20)
    for (const name of names) channel(name).unsubscribe(note)
    const [key, own] = ['key:k', { pacer: 'api', instance: pacer }]
    expect(seen).toEqual([
      ['admitted', { ...own, key, cost: 1, waited: 0, waiting: 0 }],
      ['queued', { ...own, key, cost: 1, priority: 0, waiting: 1 }],
      ['refused', expect.objectContaining({ key: 'all', cost: 2 })],
      ['admitted', { ...own, key, cost: 1, waited: 100, waiting: 0 }],
      ['rate', { ...own, rate: 20 }],
    ])
    await settle()
    const end = { waiting: 0, running: 0, admitted: 2, cost: 2, refused: 1, waited: 100, longestWait: 100 }
    expect(pacer.progress).toEqual(end)
    expect(steps.map(({ admitted }) => admitted)).toEqual([1, 2, 2])
  })
})

test.each([
  [
    'throws',
    () => {
      throw new Error('no')
    },
  ],
  ['rejects', async () => Promise.reject(new Error('no'))],
])('an onProgress that %s is a warning, and ends nothing', async (_how, onProgress) => {
  const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => undefined)
  forgetWarnings()
  onTestFinished(() => warned.mockRestore())
  const timeline = new Timeline()
  await timeline.pacer(even, { onProgress }).acquire()
  await settle()
  expect(warned.mock.calls.map(([message]) => message)).toEqual([
    expect.stringMatching(/^onProgress threw; calls go on/),
  ])
})

describe('misuse', () => {
  test.each([
    [{ order: 'first' }],
    [{ maxQueue: -1 }],
    [{ concurrency: 0 }],
    [{ unref: 1 }],
    [{ sleeper: 1 }],
    [{ onProgress: 1 }],
    [{ storeTimeout: 0 }],
    [{ queue: 1 }],
  ])('%j is refused', (options) => {
    expect(() => new Pacer('1/1s', options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  })

  test.each([
    [() => smoothBursty({ rate: 0 }), 'HEADGATE_RATE'],
    [() => smoothBursty({ rate: Infinity }), 'HEADGATE_RATE'],
    [() => smoothBursty({ rate: 1e-12 }), 'HEADGATE_RATE'],
    [() => smoothBursty({ rate: 1, maxBurst: -1 }), 'HEADGATE_BURST'],
    [() => smoothBursty({ rate: 1, maxStored: -1 }), 'HEADGATE_BURST'],
    [() => smoothBursty({ rate: 1, maxStored: 1, maxBurst: 1 }), 'HEADGATE_BURST'],
    [() => smoothBursty({ rate: 1, limit: 1 } as never), 'HEADGATE_OPTION'],
    [() => smoothBursty(5 as never), 'HEADGATE_POLICY'],
    [() => new Pacer(even).key(1 as never), 'HEADGATE_KEY'],
  ])('%s', (misuse, code) => {
    expect(misuse).toThrow(expect.objectContaining({ code }))
  })
})
