import { describe, expect, test } from 'vitest'
import { fixedWindow, gcra, slidingLog, slidingWindow, smoothBursty, tokenBucket } from '../../src/index.ts'
import { Timeline } from './timeline.ts'

const even = gcra({ limit: 10, window: '1s', burst: 1 })
const polled = slidingWindow({ limit: 2, window: '1s' })

describe('order', () => {
  test('small calls do not overtake a large one', async () => {
    const bucket = tokenBucket({ limit: 10, window: '1s', burst: 10 })
    for (const policy of [bucket, slidingWindow({ limit: 10, window: '1s' })]) {
      const timeline = new Timeline()
      const pacer = timeline.pacer(policy)
      timeline.write('A', pacer.acquire(8))
      timeline.write('B', pacer.acquire(10))
      for (const name of 'CDE') timeline.write(name, pacer.acquire())
      const text = await timeline.read()
      expect(text.replaceAll(/[^A-Z]/g, '')).toBe('ABCDE')
    }
  })

  test.each([
    ['a policy that books', even, 'A+0 D+100 E+200 B+300 C+400'],
    ['a policy that polls', slidingWindow({ limit: 1, window: '100ms' }), 'A+0 D+200 E+400 B+600 C+800'],
  ])('%s: a higher priority goes first, and equals keep their order', async (_, policy, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire(1, { priority: -1 }))
    timeline.write('C', pacer.acquire(1, { priority: -1 }))
    timeline.write('D', pacer.acquire(1, { priority: 5 }))
    timeline.write('E', pacer.acquire(1))
    expect(await timeline.read()).toBe(expected)
  })

  test.each([
    ['gcra', even],
    ['a log', slidingLog({ limit: 1, window: '100ms' })],
    ['a fixed window', fixedWindow({ limit: 1, window: '100ms' })],
  ])('%s: a call that overtakes others is refused only if it would start too late', async (_, policy) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire())
    timeline.write('C', pacer.acquire(1, { priority: 1 }))
    timeline.write('D', pacer.acquire())
    timeline.write('early', pacer.acquire(1, { priority: 9, timeout: 99 }))
    timeline.write('E', pacer.acquire(1, { priority: 9, timeout: 100 }))
    timeline.write('late', pacer.acquire(1, { priority: 9, timeout: 150 }))
    timeline.write('F', pacer.acquire(1, { priority: 1, timeout: 300 }))
    timeline.write('last', pacer.acquire(1, { timeout: 300 }))
    const refused = ['early', 'late', 'last'].map((name) => `${name}!HEADGATE_TIMEOUT+0`).join(' ')
    expect(await timeline.read()).toBe(`A+0 ${refused} E+100 C+200 F+300 B+400 D+500`)
  })

  test('a call that is overtaken is refused at its timeout, and its slot is not lost', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    timeline.write('A', pacer.acquire())
    timeline.write('B', pacer.acquire(1, { timeout: 150 }))
    timeline.write('C', pacer.acquire(1, { priority: 1 }))
    timeline.write('D', pacer.acquire())
    expect(await timeline.read()).toBe('A+0 C+100 B!HEADGATE_TIMEOUT+150 D+200')
  })
})

describe('maxQueue', () => {
  test.each([
    ['newest', 'A+0 D!HEADGATE_QUEUE_FULL+0 E!HEADGATE_QUEUE_FULL+0 B+100 C+200 F+300'],
    ['oldest', 'A+0 B!HEADGATE_QUEUE_FULL+0 C!HEADGATE_QUEUE_FULL+0 D+100 E+200 F+300'],
  ] as const)('the %s is refused, and no slot is lost', async (order, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { maxQueue: 2, order })
    for (const name of 'ABCDE') timeline.write(name, pacer.acquire())
    await timeline.pass(150)
    timeline.write('F', pacer.acquire())
    expect(await timeline.read()).toBe(expected)
  })

  test('it also holds for a policy that polls', async () => {
    for (const [order, expected] of [
      ['newest', 'A+0 B+0 E!HEADGATE_QUEUE_FULL+0 C+1500 D+2000'],
      ['oldest', 'A+0 B+0 C!HEADGATE_QUEUE_FULL+0 D+1500 E+2000'],
    ] as const) {
      const timeline = new Timeline()
      const pacer = timeline.pacer(polled, { maxQueue: 2, order })
      for (const name of 'ABCDE') timeline.write(name, pacer.acquire())
      expect(await timeline.read()).toBe(expected)
    }
  })

  test.each([
    ['books', even, 500],
    ['polls', slidingWindow({ limit: 1, window: '100ms' }), 600],
  ])('the newest function runs in place of the oldest one, under a policy that %s', async (_, policy, start) => {
    for (const concurrency of [1, 2, 3]) {
      for (const names of ['AB', 'ABC', 'ABCD', 'ABCDE']) {
        const timeline = new Timeline()
        const pacer = timeline.pacer(policy, { concurrency, maxQueue: 1, order: 'oldest' })
        for (let n = 1; n < concurrency; n++) void pacer.throttle(() => new Promise(() => {}))
        await timeline.pass(400)
        for (const name of names) {
          timeline.write(
            name,
            pacer.throttle(() => 0),
          )
          await timeline.pass(1)
        }
        const ended = (await timeline.read()).split(' ').map((text) => text.replace('!HEADGATE_QUEUE_FULL', '!'))
        const refused = [...names.slice(1, -1)].map((name, n) => `${name}!+${402 + n}`)
        expect(ended.sort()).toEqual(['A+400', ...refused, `${names.at(-1)}+${start}`])
      }
    }
  })

  test('the oldest call is refused, also after many later ones were admitted', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { maxQueue: 3, order: 'oldest' })
    timeline.write('A', pacer.acquire())
    const oldest = timeline.write('oldest', pacer.acquire(1, { priority: -1 }))
    const controller = new AbortController()
    timeline.write('second', pacer.acquire(1, { priority: -1, signal: controller.signal }))
    for (let n = 0; n < 200; n++) {
      const call = pacer.acquire()
      await timeline.pass(100)
      expect(await call).toBe(100)
    }
    controller.abort('gone')
    for (const name of 'BC') timeline.write(name, pacer.acquire())
    await timeline.pass(0)
    expect(pacer.waiting).toBe(3)
    timeline.write('D', pacer.acquire())
    await oldest
    const end = 'B+20100 C+20200 D+20300'
    expect(await timeline.read()).toBe(`A+0 second!gone+20000 oldest!HEADGATE_QUEUE_FULL+20000 ${end}`)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('with maxQueue: 0 no call waits, as in a limiter', async () => {
    for (const policy of [even, slidingWindow({ limit: 1, window: '1s' })]) {
      const timeline = new Timeline()
      const pacer = timeline.pacer(policy, { maxQueue: 0 })
      timeline.write('A', pacer.acquire())
      timeline.write('B', pacer.acquire())
      timeline.write('C', pacer.tryAcquire(1, { timeout: '5s' }))
      expect(await timeline.read()).toBe('A+0 B!HEADGATE_QUEUE_FULL+0 C+0=false')
    }
  })
})

describe('throttle and wrap', () => {
  test('they run functions at the pace and return their results', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    const double = pacer.wrap(async (n: number) => {
      timeline.events.push(`run${n}+${timeline.now}`)
      return 2 * n
    })
    const all = Promise.all([pacer.throttle(() => 1), double(1), double(2)])
    expect(await timeline.read()).toBe('run1+100 run2+200')
    expect(await all).toEqual([1, 2, 4])
  })

  test('wrap keeps this, and an error reaches the caller', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { concurrency: 1 })
    const host = {
      name: 'host',
      call: pacer.wrap(function (this: { name: string }) {
        return this.name
      }),
    }
    expect(await host.call()).toBe('host')
    const failed = expect(
      pacer.throttle(() => {
        throw new Error('boom')
      }),
    ).rejects.toThrow('boom')
    await timeline.pass(1000)
    await failed
    expect(pacer.running).toBe(0)
  })

  test('concurrency limits how many run at once, by priority, and the pace still holds', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { concurrency: 2 })
    let running = 0
    let most = 0
    const job = (name: string, milliseconds: number) => async () => {
      most = Math.max(most, ++running)
      timeline.events.push(`${name}>${timeline.now}`)
      await new Promise<void>((resolve) => timeline.sleeper(milliseconds, resolve))
      running--
      timeline.events.push(`${name}<${timeline.now}`)
    }
    for (const name of 'ABC') pacer.throttle(job(name, 1000))
    pacer.throttle(job('D', 10), { priority: 1 })
    expect(pacer.running).toBe(1)
    expect(pacer.waiting).toBe(3)
    expect(await timeline.read()).toBe('A>0 B>100 A<1000 D>1000 D<1010 B<1100 C>1100 C<2100')
    expect(most).toBe(2)
    expect(pacer.running).toBe(0)
  })

  test('a long queue of functions that can never be admitted is refused at once', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { concurrency: 1 })
    let refused = 0
    const run = pacer.throttle(() => new Promise<void>((resolve) => timeline.sleeper(10, resolve)))
    for (let n = 0; n < 20_000; n++) pacer.throttle(() => 1, { cost: 2 }).catch(() => refused++)
    await timeline.pass(10)
    await run
    expect(refused).toBe(20_000)
    expect([pacer.running, pacer.waiting]).toEqual([0, 0])
  })

  test('an aborted function leaves its place to the next', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even, { concurrency: 1 })
    const controller = new AbortController()
    timeline.write(
      'A',
      pacer.throttle(() => 1),
    )
    timeline.write(
      'B',
      pacer.throttle(() => 2, { signal: controller.signal }),
    )
    timeline.write(
      'C',
      pacer.throttle(() => 3),
    )
    await timeline.pass(50)
    controller.abort('no')
    expect(await timeline.read()).toBe('A+0 B!no+50 C+100')
  })
})

describe('pause, resume, hold, drain, close', () => {
  test.each([
    ['a policy that books', even, 'A+0 B+100 C+1000 D+1100 E+1200'],
    ['a policy that polls', slidingWindow({ limit: 1, window: '50ms' }), 'A+0 B+100 C+1000 D+1100 E+1200'],
  ])('%s: no call is admitted during a pause, and there is no burst after it', async (_, policy, expected) => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    for (const name of 'ABCD') timeline.write(name, pacer.acquire())
    await timeline.pass(120)
    pacer.pause()
    timeline.write('E', pacer.acquire())
    await timeline.pass(880)
    pacer.resume()
    expect(await timeline.read()).toBe(expected)
  })

  test.each(['pause', 'hold'] as const)(
    'a call that can never be admitted does not change the order of the calls behind it: %s',
    async (stop) => {
      const timeline = new Timeline()
      const pacer = timeline.pacer(even, { concurrency: 2 })
      if (stop === 'pause') pacer.pause()
      else pacer.hold('50ms')
      const run = (name: string, cost = 1) =>
        timeline.write(
          name,
          pacer.throttle(() => name, { cost }),
        )
      run('A', 2)
      for (const name of 'BCDE') run(name)
      await timeline.pass(50)
      pacer.resume()
      expect(await timeline.read()).toBe('A!HEADGATE_COST+50 B+50 C+150 D+250 E+350')
    },
  )

  test('a pause that ends at once delays no call', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    for (const name of 'ABCD') timeline.write(name, pacer.acquire())
    pacer.pause()
    pacer.resume()
    expect(await timeline.read()).toBe('A+0 B+100 C+200 D+300')
  })

  test('hold admits no call of one key for that time', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    const [held, other] = [pacer.key('held'), pacer.key('other')]
    held.hold('1s')
    timeline.write('A', held.acquire())
    timeline.write('B', held.acquire())
    timeline.write('C', held.tryAcquire())
    timeline.write('D', other.acquire())
    expect(await timeline.read()).toBe('D+0 C+0=false A+1000 B+1100')
    expect(pacer.keys).toBe(0)
  })

  test('drain resolves when no call waits or runs', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    await pacer.drain()
    for (const name of 'AB') timeline.write(name, pacer.acquire())
    pacer.throttle(() => new Promise<void>((resolve) => timeline.sleeper(50, resolve)))
    timeline.write('drained', pacer.drain())
    expect(await timeline.read()).toBe('A+0 B+100 drained+250')
  })

  test('close refuses waiting and later calls, and leaves no timer', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(even)
    for (const name of 'AB') timeline.write(name, pacer.acquire())
    timeline.write('C', pacer.key('k').acquire())
    timeline.write('D', pacer.key('k').acquire())
    pacer.close()
    timeline.write('E', pacer.acquire())
    const closed = ['B', 'D', 'E'].map((name) => `${name}!HEADGATE_CLOSED+0`)
    expect((await timeline.read()).split(' ').sort()).toEqual(['A+0', 'C+0', ...closed].sort())
    expect(timeline.sleeps.size).toBe(0)
  })
})

describe('keys', () => {
  test('each key has a queue of its own, and is forgotten after its last call', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer(smoothBursty({ rate: 10 }))
    for (const name of 'AB') timeline.write(name, pacer.key('one').acquire())
    for (const name of 'CD') timeline.write(name, pacer.key('two').acquire())
    expect(pacer.keys).toBe(2)
    expect(await timeline.read()).toBe('A+0 C+0 B+100 D+100')
    for (let n = 0; n < 10_000; n++) await pacer.key(`host-${n}`).acquire()
    expect(pacer.keys).toBe(0)
  })
})
