import { describe, expect, test } from 'vitest'
import { concurrency, slidingLog } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import type { Ledger } from '../../src/store.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* A policy of concurrency: what it holds, when it lets go, and when those that wait are asked for again. */

/** Runs for that many milliseconds. */
function work(timeline: Timeline, milliseconds: number): Promise<void> {
  return new Promise((resolve) => timeline.sleeper(milliseconds, resolve))
}

describe('in one process', () => {
  test('a unit is held until the function ends, and the next call goes at that moment', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('2 at once')
    for (const [name, length] of [...'ABCDE'].map((name, n) => [name, 100 + 10 * n] as const)) {
      timeline.write(
        name,
        pacer.throttle(() => work(timeline, length)),
      )
    }
    // A and B at 0, C at 100 behind A, D at 110 behind B, E at 220 behind C
    expect(await timeline.read(1000)).toBe('A+100 B+110 C+220 D+240 E+360')
    expect([pacer.waiting, pacer.running, timeline.sleeps.size]).toEqual([0, 0, 0])
  })

  test('a function that throws, at once or later, lets go', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('1 at once')
    const fail = () => {
      throw new Error('now')
    }
    timeline.write('A', pacer.throttle(fail))
    timeline.write(
      'B',
      pacer.throttle(async () => {
        await work(timeline, 10)
        throw new Error('later')
      }),
    )
    timeline.write('C', pacer.wrap(() => 1)())
    expect(await timeline.read(1000)).toBe('A!now+0 B!later+10 C+10')
  })

  test('a function that runs for longer than the lease renews it', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('1 at once lease 3s')
    timeline.write(
      'A',
      pacer.throttle(() => work(timeline, 10_000)),
    )
    timeline.write(
      'B',
      pacer.throttle(() => 1),
    )
    expect(await timeline.read(20_000)).toBe('A+10000 B+10000')
    expect(timeline.sleeps.size).toBe(0)
  })

  test('with a rate, a call waits for both', async () => {
    const timeline = new Timeline()
    const policies = [slidingLog({ limit: 2, window: '1s' }), concurrency({ limit: 1 })]
    const pacer = timeline.pacer({ policies } as never)
    for (const [name, length] of [
      ['A', 300],
      ['B', 100],
      ['C', 100],
    ] as const) {
      timeline.write(
        name,
        pacer.throttle(() => work(timeline, length)),
      )
    }
    // B behind A, and C when the window has room.
    expect(await timeline.read(5000)).toBe('A+300 B+400 C+1100')
  })

  test('a call that leaves the queue holds nothing, and timeouts end a wait', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('1 at once')
    const controller = new AbortController()
    timeline.write(
      'A',
      pacer.throttle(() => work(timeline, 100)),
    )
    timeline.write(
      'B',
      pacer.throttle(() => 1, { signal: controller.signal }),
    )
    timeline.write(
      'C',
      pacer.throttle(() => 1, { timeout: 50 }),
    )
    timeline.write(
      'D',
      pacer.throttle(() => 1, { timeout: 0 }),
    )
    timeline.write(
      'E',
      pacer.throttle(() => 1, { timeout: 100 }),
    )
    await timeline.pass(10)
    controller.abort('gone')
    expect(await timeline.read(1000)).toBe('D!HEADGATE_TIMEOUT+0 B!gone+10 C!HEADGATE_TIMEOUT+50 A+100 E+100')
  })

  test('a cost is a number of units, and keys are apart', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('3 at once')
    const run = (name: string, key: string, cost: number) =>
      timeline.write(
        name,
        pacer.key(key).throttle(() => work(timeline, 100), { cost }),
      )
    run('A', 'x', 2)
    run('B', 'x', 2)
    run('C', 'y', 3)
    run('D', 'x', 4)
    expect(await timeline.read(1000)).toBe('A+100 D!HEADGATE_COST+100 C+100 B+200')
    expect(pacer.keys).toBe(0)
  })

  test('drain waits for the last function, and a pause admits nobody', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('1 at once')
    timeline.write(
      'A',
      pacer.throttle(() => work(timeline, 100)),
    )
    timeline.write(
      'B',
      pacer.throttle(() => 1),
    )
    timeline.write('drained', pacer.drain())
    await timeline.pass(50)
    pacer.pause()
    await timeline.pass(150)
    pacer.resume()
    expect(await timeline.read(1000)).toBe('A+100 B+200 drained+200')
  })
})

describe('reserve', () => {
  test('it holds units until they are settled, cancelled or released', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('1 at once lease 10s')
    for (const end of ['settle', 'cancel', 'release'] as const) {
      const reservation = await pacer.reserve()
      expect([reservation.allowed, (await pacer.reserve()).allowed]).toEqual([true, false])
      timeline.write(
        end,
        pacer.throttle(() => 1),
      )
      await timeline.pass(100)
      await (end === 'settle' ? reservation.settle(1) : reservation[end]())
      await timeline.pass(0)
    }
    expect(await timeline.read(0)).toBe('settle+100 cancel+200 release+300')
  })

  test('it can be renewed; else its lease ends', async () => {
    const timeline = new Timeline()
    const pacer = timeline.pacer('1 at once lease 10s')
    const reservation = await pacer.reserve()
    await timeline.pass(8000)
    expect(await reservation.renew()).toBe(true)
    timeline.write(
      'A',
      pacer.throttle(() => 1),
    )
    expect(await timeline.read(20_000)).toBe('A+18000')
    expect(await reservation.renew()).toBe(true) // nobody has taken its place
    await reservation.release()
  })
})

test.each(['acquire', 'tryAcquire'] as const)('%s is refused with the fix', async (method) => {
  const pacer = new Pacer('4 at once')
  await expect(pacer[method]()).rejects.toMatchObject({
    code: 'HEADGATE_POLICY',
    message: expect.stringContaining('throttle(fn)'),
  })
})

test.each([[{ poll: 0 }], [{ poll: 'x' }], [{ random: 1 }]])('%j is refused', (options) => {
  expect(() => new Pacer('1/1s', options as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})

describe('in a fleet', () => {
  /** Processes on one server, 5 ms away. */
  function fleet(size: number, limit: number, options = {}, latency = 10) {
    const timeline = new Timeline()
    const shared = new Map<string, Ledger>()
    const stores = Array.from({ length: size }, () => new LateStore(timeline, latency, shared))
    const pacers = stores.map((store) =>
      timeline.pacer(`${limit} at once lease 9s`, { store, random: () => 0, ...options }),
    )
    return { timeline, pacers, stores }
  }

  test('a release in another process is found by polls that become more seldom', async () => {
    const { timeline, pacers, stores } = fleet(2, 1, { poll: '50ms' })
    timeline.write(
      'A',
      pacers[0]!.throttle(() => work(timeline, 1000)),
    )
    await timeline.pass(10)
    timeline.write(
      'B',
      pacers[1]!.throttle(() => 1),
    )
    await timeline.pass(900)
    // Requests at 10, 70, 180, 390, 600, 810: 50, 100, 200, 200 ms behind the answers.
    expect(stores[1]!.calls).toBe(6)
    expect(await timeline.read(1000)).toBe('A+1010 B+1030')
    await timeline.pass(20_000)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('a release in the same process is used at once', async () => {
    const { timeline, pacers } = fleet(1, 1)
    for (const name of 'ABC')
      timeline.write(
        name,
        pacers[0]!.throttle(() => work(timeline, 100)),
      )
    // 10 ms to release, 10 ms to take.
    expect(await timeline.read(5000)).toBe('A+110 B+230 C+350')
  })

  test('no process keeps the others out by taking what it frees', async () => {
    // The server is so near that a unit is free for no time between two calls of one process.
    const { timeline, pacers } = fleet(2, 1, {}, 0)
    let busy = 0
    const again = async (): Promise<void> => {
      while (timeline.now < 20_000) await pacers[0]!.throttle(() => work(timeline, 20)).then(() => busy++)
    }
    for (let n = 0; n < 5; n++) void again()
    await timeline.pass(1000.5)
    let others = 0
    for (let n = 0; n < 5; n++) void pacers[1]!.throttle(() => work(timeline, 20)).then(() => others++)
    await timeline.pass(18_000)
    expect(others).toBe(5)
    expect(busy).toBeGreaterThan(850) // of 950
    await timeline.pass(10_000)
    expect(timeline.sleeps.size).toBe(0)
  })

  test('never more than the limit at once, however calls come, leave and last', async () => {
    const { timeline, pacers } = fleet(4, 3, { random: Math.random })
    let [running, most, ended] = [0, 0, 0]
    for (let n = 0; n < 200; n++) {
      const run = async () => {
        most = Math.max(most, ++running)
        await work(timeline, (n * 7919) % 97)
        running--
      }
      const timeout = n % 5 === 0 ? (n * 31) % 300 : undefined
      pacers[n % 4]!.throttle(run, timeout === undefined ? {} : { timeout }).then(
        () => ended++,
        () => ended++,
      )
      if (n % 3 === 0) await timeline.pass(10)
    }
    await timeline.pass(60_000)
    expect([most, running, ended]).toEqual([3, 0, 200])
    const free = await Promise.all([pacers[0]!.reserve(3), timeline.pass(100)])
    expect(free[0].allowed).toBe(true)
  })
})
