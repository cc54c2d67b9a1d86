/* What the README of p-throttle shows, on p-throttle and on headgate. */
import pThrottle from 'p-throttle'
import { expect, test } from 'vitest'
import { slidingLog, wallClock } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { type Log, play, sameOutcome } from './same-outcome.ts'

const clock = wallClock
const twoASecond = () => new Pacer(slidingLog({ limit: 2, window: '1s' }), { clock })

const callSix = (throttled: (index: number) => Promise<number>) => (log: Log) => {
  for (let index = 1; index <= 6; index++) throttled(index).then((result) => log(`call ${result}`))
}

test('two calls a second', async () => {
  await sameOutcome(
    ['0 call 1', '0 call 2', '1000 call 3', '1000 call 4', '2000 call 5', '2000 call 6'],
    (log) => callSix(pThrottle({ limit: 2, interval: 1000 })(async (index: number) => index))(log),
    (log) => callSix(twoASecond().wrap(async (index: number) => index))(log),
  )
})

test('strict: two calls in any second. Its calls are spread, and those of headgate go as soon as they may', async () => {
  const theirs = await play((log) =>
    callSix(pThrottle({ limit: 2, interval: 1000, strict: true })(async (index: number) => index))(log),
  )
  const ours = await play((log) => callSix(twoASecond().wrap(async (index: number) => index))(log))
  for (const events of [theirs, ours]) {
    const times = events.map(Number.parseFloat)
    expect(times).toHaveLength(6)
    for (const [index, time] of times.slice(2).entries())
      expect(time - (times[index] ?? 0)).toBeGreaterThanOrEqual(1000)
  }
  expect(ours.at(-1)).toBe('2000 call 6')
})

test('a signal ends the calls that wait', async () => {
  const abort = async (run: () => Promise<void>, controller: AbortController, log: Log) => {
    await run()
    await run()
    const third = run()
    controller.abort('enough')
    await third.catch((reason) => log(`refused: ${reason}`))
  }
  await sameOutcome(
    ['0 runs', '0 runs', '0 refused: enough'],
    (log) => {
      const controller = new AbortController()
      const { signal } = controller
      const run = pThrottle({ limit: 2, interval: 1000, signal })(() => log('runs'))
      return abort(async () => run(), controller, log)
    },
    (log) => {
      const controller = new AbortController()
      const run = twoASecond().wrap(() => log('runs'), { signal: controller.signal })
      return abort(run, controller, log)
    },
  )
})

test('a call that is delayed is told of, with its arguments', async () => {
  const callAll = async (call: (a: number, b: number) => Promise<unknown>) => {
    await call(1, 2)
    await call(3, 4)
    await call(5, 6)
  }
  await sameOutcome(
    ['0 runs 1 2', '0 runs 3 4', '0 delayed 5 6', '1000 runs 5 6'],
    (log) => {
      const onDelay = (a: number, b: number) => log(`delayed ${a} ${b}`)
      const throttled = pThrottle({ limit: 2, interval: 1000, onDelay })((a: number, b: number) =>
        log(`runs ${a} ${b}`),
      )
      return callAll(async (a, b) => throttled(a, b))
    },
    (log) =>
      callAll(
        twoASecond().wrap(
          (a: number, b: number) => log(`runs ${a} ${b}`),
          (a, b) => ({ onDelay: () => log(`delayed ${a} ${b}`) }),
        ),
      ),
  )
})

test('a call costs as much as its arguments say', async () => {
  const callAll = (fetchTables: (count: number) => Promise<number>) => (log: Log) => {
    for (const count of [39, 58, 0, 4]) fetchTables(count).then(() => log(`${count} tables`))
  }
  await sameOutcome(
    ['0 39 tables', '0 58 tables', '0 0 tables', '1000 4 tables'],
    (log) => {
      const throttle = pThrottle({ limit: 100, interval: 1000, weight: (count: number) => 1 + count })
      return callAll(throttle(async (count: number) => count))(log)
    },
    (log) => {
      const pacer = new Pacer(slidingLog({ limit: 100, window: '1s' }), { clock })
      const cost = (count: number) => ({ cost: 1 + count })
      return callAll(pacer.wrap(async (count: number) => count, cost))(log)
    },
  )
})

test('another source while too many calls wait', async () => {
  const callAll = async (waiting: () => number, accurate: () => Promise<unknown>, log: Log) => {
    await accurate()
    for (let calls = 0; calls < 5; calls++) {
      if (waiting() >= 3) log('rough')
      else accurate().then(() => log('accurate'))
    }
  }
  await sameOutcome(
    ['0 rough', '0 rough', '1000 accurate', '2000 accurate', '3000 accurate'],
    (log) => {
      const accurate = pThrottle({ limit: 1, interval: 1000 })(async () => {})
      return callAll(() => accurate.queueSize, accurate, log)
    },
    (log) => {
      const pacer = new Pacer(slidingLog({ limit: 1, window: '1s' }), { clock })
      return callAll(
        () => pacer.waiting,
        pacer.wrap(async () => {}),
        log,
      )
    },
  )
})

test('calls that are not throttled', async () => {
  await sameOutcome(
    ['0 runs', '0 runs', '0 runs'],
    (log) => {
      const throttled = pThrottle({ limit: 1, interval: 1000 })(() => log('runs'))
      throttled.isEnabled = false
      for (let calls = 0; calls < 3; calls++) throttled()
    },
    (log) => {
      const run = () => log('runs')
      const pacer = new Pacer(slidingLog({ limit: 1, window: '1s' }), { clock })
      const isEnabled = false
      const throttled = isEnabled ? pacer.wrap(run) : run
      for (let calls = 0; calls < 3; calls++) throttled()
    },
  )
})
