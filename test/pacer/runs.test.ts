import { getEventListeners } from 'node:events'
import { describe, expect, test } from 'vitest'
import { concurrency, gcra, type PolicyLike } from '../../src/index.ts'
import { Pacer, type PacerOptions } from '../../src/pacer/index.ts'
import { settle, Timeline } from './timeline.ts'

const even = gcra({ limit: 10, window: '1s', burst: 1 })
const never = () => new Promise<never>(() => {})

describe('runTimeout', () => {
  test('ends the promise of a function that runs for too long, and frees its place', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { concurrency: 1 })
    const { signal } = new AbortController()
    timeline.write('A', pacer.throttle(never, { runTimeout: '2s', signal }))
    timeline.write(
      'B',
      pacer.throttle(() => 'done'),
    )
    expect(await timeline.read()).toBe('A!HEADGATE_RUN_TIMEOUT+2000 B+2000')
    expect(getEventListeners(signal, 'abort')).toEqual([])
    expect(pacer.running).toBe(0)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('counts from the start of the function, and not from the call', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    for (const name of 'ABC') timeline.write(name, pacer.throttle(never, { runTimeout: 50 }))
    expect(await timeline.read()).toBe(
      'A!HEADGATE_RUN_TIMEOUT+50 B!HEADGATE_RUN_TIMEOUT+150 C!HEADGATE_RUN_TIMEOUT+250',
    )
  })

  test('frees the units in flight of a policy', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(concurrency({ limit: 1, lease: '1m' }))
    timeline.write('A', pacer.throttle(never, { runTimeout: 70 }))
    timeline.write(
      'B',
      pacer.throttle(() => {}),
    )
    expect(await timeline.read(5000)).toBe('A!HEADGATE_RUN_TIMEOUT+70 B+70')
  })

  test('aborts the signal of the function with the error of the call', async () => {
    const timeline = new Timeline()
    let reason: unknown
    const run = (signal: AbortSignal) =>
      new Promise((_, reject) =>
        signal.addEventListener('abort', () => {
          reason = signal.reason
          reject(new Error('its own error'))
        }),
      )
    timeline.write('A', timeline.pacer(even).throttle(run, { runTimeout: '1s' }))
    expect(await timeline.read()).toBe('A!HEADGATE_RUN_TIMEOUT+1000')
    expect(reason).toMatchObject({ code: 'HEADGATE_RUN_TIMEOUT' })
  })

  test("aborts the signal of the function when the call's signal is aborted, and leaves the rest to the function", async () => {
    const timeline = new Timeline()
    const abort = new AbortController()
    const run = (signal: AbortSignal) =>
      new Promise((resolve) => signal.addEventListener('abort', () => resolve(signal.reason)))
    const call = timeline.pacer(even).throttle(run, { runTimeout: '1s', signal: abort.signal })
    await settle()
    abort.abort('enough')
    await expect(call).resolves.toBe('enough')
    expect(timeline.sleeps.size).toBe(0)
  })

  test('leaves no timer behind a function that ends in time, or throws', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('10/1s token-bucket')
    const fail = () => {
      throw new Error('broken')
    }
    const { signal } = new AbortController()
    await expect(pacer.throttle(() => 'done', { runTimeout: '1h', signal })).resolves.toBe('done')
    expect(getEventListeners(signal, 'abort')).toEqual([])
    await expect(pacer.throttle(fail, { runTimeout: '1h' })).rejects.toThrow('broken')
    await expect(pacer.throttle(async () => fail(), { runTimeout: '1h' })).rejects.toThrow('broken')
    expect(timeline.sleeps.size).toBe(0)
    expect(pacer.running).toBe(0)
  })

  test('holds for wrap, without a signal', async () => {
    const timeline = new Timeline()
    const work = timeline.pacer(even).wrap((...all: unknown[]) => (all.length === 1 ? never() : undefined), {
      runTimeout: 30,
    })
    timeline.write('A', work('only'))
    expect(await timeline.read()).toBe('A!HEADGATE_RUN_TIMEOUT+30')
  })

  test('Infinity is no end', async () => {
    const timeline = new Timeline()
    timeline.write('A', timeline.pacer(even).throttle(never, { runTimeout: Infinity }))
    expect(await timeline.read()).toBe('')
  })

  test.each([0, -1, 1.5, Number.NaN, 'soon', null, {}])('refuses %s, and takes no units', async (runTimeout) => {
    const pacer = new Timeline().pacer(even)
    await expect(pacer.throttle(never, { runTimeout: runTimeout as never })).rejects.toMatchObject({
      code: 'HEADGATE_OPTION',
    })
    await expect(pacer.tryAcquire()).resolves.toBe(true)
  })
})

test.each([Promise.resolve('done'), 5, undefined, null])('%s in place of a function takes no units', async (run) => {
  const pacer = new Timeline().pacer(even)
  const expected = {
    code: 'HEADGATE_OPTION',
    message: expect.stringMatching(/Write pacer\.\w+\(\(\) => fetch\(url\)\)/),
  }
  await expect(pacer.throttle(run as never)).rejects.toMatchObject(expected)
  expect(() => pacer.wrap(run as never)).toThrow(expect.objectContaining(expected))
  await expect(pacer.tryAcquire()).resolves.toBe(true)
})

describe('an unknown option', () => {
  const unknown = expect.objectContaining({
    code: 'HEADGATE_OPTION',
    message: expect.stringMatching(/no option "foo"/),
  })
  const foo = { foo: 1 } as object

  test('of each call is an error, and takes no units', async () => {
    const pacer = new Timeline().pacer(even)
    const key = pacer.key('a')
    for (const pace of [pacer, key]) {
      await expect(pace.acquire(1, foo)).rejects.toThrow(unknown)
      await expect(pace.tryAcquire(1, { timeout: 5, ...foo })).rejects.toThrow(unknown)
      await expect(pace.throttle(() => 'ran', { cost: 1, ...foo })).rejects.toThrow(unknown)
      await expect(pace.reserve(1, foo)).rejects.toThrow(unknown)
      await expect(
        pace.wrap(
          () => 'ran',
          () => foo,
        )(),
      ).rejects.toThrow(unknown)
      expect(() => pace.wrap(() => 'ran', foo)).toThrow(unknown)
      expect(await pace.tryAcquire()).toBe(true)
    }
  })

  test.each([{ cost: 2 }, { runTimeout: '1s' }])('%j is one of functions only', async (options) => {
    const pacer = new Timeline().pacer(even)
    await expect(pacer.acquire(1, options as object)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
  })

  test.each([
    ['a controller', new AbortController(), 'an object'],
    ['a text', 'soon', '"soon"'],
  ])('%s is no signal, and a call with it takes nothing', async (_, signal, got) => {
    const pacer = new Timeline().pacer(even)
    const options = { signal: signal as never }
    const error = {
      code: 'HEADGATE_OPTION',
      message: `signal must be an AbortSignal, got ${got}. Write signal: controller.signal.`,
    }
    await expect(pacer.acquire(1, options)).rejects.toMatchObject(error)
    await expect(pacer.tryAcquire(1, options)).rejects.toMatchObject(error)
    await expect(pacer.throttle(() => 1, options)).rejects.toMatchObject(error)
    expect([pacer.waiting, pacer.running, await pacer.acquire()]).toEqual([0, 0, 0])
  })

  test.each([5, 'x', null, []])('%j is no object of options', async (options) => {
    const pacer = new Timeline().pacer(even)
    await expect(pacer.acquire(1, options as never)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    await expect(pacer.throttle(() => 1, options as never)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
    await expect(pacer.reserve(1, options as never)).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
  })
})

describe('onDelay', () => {
  test.each<[string, PolicyLike, PacerOptions & { paused?: boolean }]>([
    ['a slot', even, {}],
    ['another function', '10/1s token-bucket', { concurrency: 1 }],
    ['another attempt', '1/100ms', {}],
    ['the end of a pause', '10/1s token-bucket', { paused: true }],
  ])('is called once for each call that waits for %s', async (what, policy, { paused = false, ...options }) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy, options)
    const delayed: string[] = []
    const call = (name: string) => pacer.throttle(() => settle(), { onDelay: () => delayed.push(name) })
    if (paused) pacer.pause()
    const calls = ['A', 'B', 'C'].map(call)
    await settle()
    expect(delayed).toEqual(paused ? ['A', 'B', 'C'] : ['B', 'C'])
    pacer.resume()
    for (let passes = 0; passes < 10; passes++) await timeline.pass(100)
    await Promise.all(calls)
    expect(delayed, what).toHaveLength(paused ? 3 : 2)
  })

  test('a function that throws ends the call, which takes no units', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    const onDelay = () => {
      throw new Error('too late for me')
    }
    await pacer.acquire(1, { onDelay })
    timeline.write('A', pacer.acquire(1, { onDelay }))
    timeline.write('B', pacer.acquire())
    expect(await timeline.read()).toBe('A!too late for me+0 B+100')
  })

  test('may call the pacer', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    await pacer.acquire()
    timeline.write('A', pacer.acquire(1, { onDelay: () => pacer.close() }))
    expect(await timeline.read()).toBe('A!HEADGATE_CLOSED+0')
  })

  test('refuses what is no function', async () => {
    const pacer = new Timeline().pacer(even)
    await expect(pacer.acquire(1, { onDelay: 'log' as never })).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
  })
})

describe('options of wrap as a function', () => {
  test('get the arguments and this of each call', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('10/1s token-bucket')
    const mailer = {
      name: 'mailer',
      send: pacer.wrap(
        function (this: { name: string }, to: string[]) {
          return `${this.name} ${to}`
        },
        function (to) {
          return { cost: to.length, onDelay: () => timeline.events.push(`${this.name} delays ${to}`) }
        },
      ),
    }
    await expect(mailer.send(Array.from('abcdefghi'))).resolves.toBe('mailer a,b,c,d,e,f,g,h,i')
    timeline.write('A', mailer.send(['k', 'l']))
    expect(await timeline.read()).toBe('mailer delays k,l A+100')
  })

  test('an error of theirs rejects the call', async () => {
    const work = new Timeline().pacer(even).wrap(
      () => 'done',
      () => {
        throw new Error('no options')
      },
    )
    await expect(work()).rejects.toThrow('no options')
  })

  test('a promise of them rejects the call, because nobody would wait for it', async () => {
    const later = (async () => ({ cost: 5 })) as never
    const work = new Timeline().pacer(even).wrap(() => 'done', later)
    await expect(work()).rejects.toMatchObject({ code: 'HEADGATE_OPTION' })
  })
})

describe('waitingBelow', () => {
  test('resolves as soon as fewer calls wait, over all keys', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    const all = [1, 2, 3, 4].map(() => pacer.acquire())
    all.push(...[1, 2].map(() => pacer.key('other').acquire()))
    await settle()
    expect(pacer.waiting).toBe(4)
    timeline.write('5', pacer.waitingBelow(5))
    timeline.write('3', pacer.waitingBelow(3))
    timeline.write('1', pacer.waitingBelow(1))
    expect(await timeline.read()).toBe('5+0 3+100 1+300')
    await Promise.all(all)
  })

  test('a call that gives up counts', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    pacer.pause()
    timeline.write('A', pacer.acquire(1, { timeout: 70 }))
    timeline.write('none waits', pacer.waitingBelow(1))
    expect(await timeline.read()).toBe('A!HEADGATE_TIMEOUT+70 none waits+70')
  })

  test.each([0, -1, 1.5, '3', undefined])('refuses %s', (count) => {
    const pacer = new Pacer(even)
    expect(() => pacer.waitingBelow(count as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  })
})
