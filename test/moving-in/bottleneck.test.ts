/* What the README of bottleneck shows, on bottleneck and on headgate. */
import { promisify } from 'node:util'
import Bottleneck from 'bottleneck'
import { describe, test } from 'vitest'
import { fixedWindow, gcra, slidingLog, smoothBursty, tokenBucket, wallClock } from '../../src/index.ts'
import { Pacer, type PacerOptions } from '../../src/pacer/index.ts'
import { type Log, similarOutcome, sleep } from './same-outcome.ts'

const clock = wallClock
const every = (milliseconds: number, options: PacerOptions = {}) =>
  new Pacer(gcra({ limit: 1, window: `${milliseconds}ms`, burst: 1 }), { clock, ...options })
/** A pacer that only orders and bounds what runs. */
const unlimited = (options: PacerOptions) =>
  new Pacer(slidingLog({ limit: 1_000_000, window: '1ms' }), { clock, ...options })

type Schedule = (run: () => unknown) => Promise<unknown>

/** Schedules jobs that take so many milliseconds. */
const jobs =
  (names: string, takes = 0) =>
  (schedule: Schedule, log: Log) => {
    for (const name of names) {
      schedule(async () => {
        log(name)
        if (takes > 0) await sleep(takes)
      })
    }
  }

test('a job every 300 ms', () =>
  similarOutcome(
    ['0 A', '300 B', '600 C'],
    (log) => {
      const limiter = new Bottleneck({ minTime: 300 })
      jobs('ABC')((run) => limiter.schedule(async () => run()), log)
    },
    (log) => {
      const pacer = every(300)
      jobs('ABC')((run) => pacer.throttle(run), log)
    },
  ))

test('one job at a time, and one every 300 ms', () =>
  similarOutcome(
    ['0 A', '500 B', '1000 C'],
    (log) => {
      const limiter = new Bottleneck({ minTime: 300, maxConcurrent: 1 })
      jobs('ABC', 500)((run) => limiter.schedule(async () => run()), log)
    },
    (log) => {
      const pacer = every(300, { concurrency: 1 })
      jobs('ABC', 500)((run) => pacer.throttle(run), log)
    },
  ))

describe('the ways to call a function', () => {
  const add = async (a: number, b: number) => a + b
  const addLater = (a: number, b: number, done: (error: unknown, sum: number) => void) =>
    void setTimeout(() => done(null, a + b), 10)

  test('schedule, wrap and submit', () =>
    similarOutcome(
      ['0 3', '0 7', '0 11'],
      async (log) => {
        const limiter = new Bottleneck({ maxConcurrent: 1 })
        log(`${await limiter.schedule(() => add(1, 2))}`)
        log(`${await limiter.wrap(add)(3, 4)}`)
        const sum = await new Promise((resolve) => {
          limiter.submit(addLater, 5, 6, (_error: unknown, result: number) => resolve(result))
        })
        log(`${sum}`)
      },
      async (log) => {
        const pacer = unlimited({ concurrency: 1 })
        log(`${await pacer.throttle(() => add(1, 2))}`)
        log(`${await pacer.wrap(add)(3, 4)}`)
        log(`${await pacer.wrap(promisify(addLater))(5, 6)}`)
      },
    ))
})

describe('reservoirs', () => {
  test('refreshed: 3 a second, at least 100 ms apart', () =>
    similarOutcome(
      ['0 A', '100 B', '200 C', '1000 D', '1100 E', '1200 F'],
      (log) => {
        const limiter = new Bottleneck({
          reservoir: 3,
          reservoirRefreshAmount: 3,
          reservoirRefreshInterval: 1000,
          maxConcurrent: 1,
          minTime: 100,
        })
        jobs('ABCDEF')((run) => limiter.schedule(async () => run()), log)
      },
      (log) => {
        const policies = [
          fixedWindow({ name: 'quota', limit: 3, window: '1s', align: 'first-request' }),
          gcra({ name: 'distance', limit: 1, window: '100ms' }),
        ]
        const pacer = new Pacer({ policies, concurrency: 1, clock })
        jobs('ABCDEF')((run) => pacer.throttle(run), log)
      },
    ))

  test('increased: 4 at first, and 2 more each second', () =>
    similarOutcome(
      ['0 A', '50 B', '100 C', '150 D', '1000 E', '1050 F', '2000 G', '2050 H'],
      (log) => {
        const limiter = new Bottleneck({
          reservoir: 4,
          reservoirIncreaseAmount: 2,
          reservoirIncreaseInterval: 1000,
          reservoirIncreaseMaximum: 4,
          maxConcurrent: 5,
          minTime: 50,
        })
        jobs('ABCDEFGH')((run) => limiter.schedule(async () => run()), log)
      },
      (log) => {
        const policies = [
          tokenBucket({ name: 'quota', limit: 2, window: '1s', burst: 4, refill: 'interval' }),
          gcra({ name: 'distance', limit: 1, window: '50ms' }),
        ]
        const pacer = new Pacer({ policies, concurrency: 5, clock })
        jobs('ABCDEFGH')((run) => pacer.throttle(run), log)
      },
    ))
})

describe('options of a job', () => {
  test('a priority, 0 being the first', () =>
    similarOutcome(
      ['100 A', '200 D', '300 B', '400 C'],
      (log) => {
        const limiter = new Bottleneck({ maxConcurrent: 1 })
        const job = (name: string, priority: number) =>
          void limiter.schedule({ priority }, () => sleep(100)).then(() => log(name))
        job('A', 5)
        job('B', 5)
        job('C', 5)
        job('D', 1)
      },
      (log) => {
        const pacer = unlimited({ concurrency: 1 })
        const job = (name: string, priority: number) =>
          void pacer.throttle(() => sleep(100), { priority: -priority }).then(() => log(name))
        job('A', 5)
        job('B', 5)
        job('C', 5)
        job('D', 1)
      },
    ))

  test('a weight in the reservoir', () =>
    similarOutcome(
      ['0 A', '1000 B', '2000 C'],
      (log) => {
        const limiter = new Bottleneck({
          reservoir: 5,
          reservoirRefreshAmount: 5,
          reservoirRefreshInterval: 1000,
        })
        for (const name of 'ABC') void limiter.schedule({ weight: 3 }, async () => log(name))
      },
      (log) => {
        const pacer = new Pacer(fixedWindow({ limit: 5, window: '1s', align: 'first-request' }), { clock })
        for (const name of 'ABC') void pacer.throttle(() => log(name), { cost: 3 })
      },
    ))

  test('an expiration', () =>
    similarOutcome(
      ['200 A expired', '300 B done'],
      (log) => {
        const limiter = new Bottleneck({ maxConcurrent: 1 })
        limiter
          .schedule({ expiration: 200 }, () => new Promise(() => {}))
          .catch((error) => log(`A ${error instanceof Bottleneck.BottleneckError ? 'expired' : error}`))
        limiter.schedule({ expiration: 200 }, () => sleep(100)).then(() => log('B done'))
      },
      (log) => {
        const pacer = unlimited({ concurrency: 1 })
        pacer
          .throttle(() => new Promise(() => {}), { runTimeout: 200 })
          .catch((error) => log(`A ${error.code === 'HEADGATE_RUN_TIMEOUT' ? 'expired' : error}`))
        pacer.throttle(() => sleep(100), { runTimeout: 200 }).then(() => log('B done'))
      },
    ))
})

describe('a full queue', () => {
  const scenario = async (schedule: Schedule, log: Log) => {
    for (const name of 'ABCD') {
      schedule(() => sleep(100)).then(
        () => log(name),
        () => log(`${name} dropped`),
      )
      await sleep(1)
    }
  }

  test.each([
    ['LEAK', Bottleneck.strategy.LEAK, 'oldest', ['0 B dropped', '100 A', '200 C', '300 D']],
    ['OVERFLOW', Bottleneck.strategy.OVERFLOW, 'newest', ['0 D dropped', '100 A', '200 B', '300 C']],
  ] as const)('%s', (_, strategy, order, outcome) =>
    similarOutcome(
      [...outcome],
      (log) => {
        const limiter = new Bottleneck({ maxConcurrent: 1, highWater: 2, strategy })
        return scenario((run) => limiter.schedule(async () => run()), log)
      },
      (log) => {
        const pacer = unlimited({ concurrency: 1, maxQueue: 2, order })
        return scenario((run) => pacer.throttle(run), log)
      },
    ),
  )
})

test('a job that is tried again', () =>
  similarOutcome(
    ['0 runs', '0 failed: Error: broken', '50 runs', '50 done'],
    async (log) => {
      const limiter = new Bottleneck()
      limiter.on('failed', (error, { retryCount }) => {
        log(`failed: ${error}`)
        return retryCount === 0 ? 50 : undefined
      })
      let runs = 0
      const result = await limiter.schedule(async () => {
        log('runs')
        if (++runs === 1) throw new Error('broken')
        return 'done'
      })
      log(result)
    },
    async (log) => {
      const pacer = every(10)
      let runs = 0
      const job = async () => {
        log('runs')
        if (++runs === 1) throw new Error('broken')
        return 'done'
      }
      // The second attempt takes a slot of its own, so the pace holds.
      const result = await pacer.throttle(job).catch(async (error) => {
        log(`failed: ${error}`)
        await sleep(50)
        return pacer.throttle(job)
      })
      log(result)
    },
  ))

test('other settings at run time', () =>
  similarOutcome(
    ['0 A', '100 B', '200 C', '700 D'],
    async (log) => {
      const limiter = new Bottleneck({ minTime: 100 })
      const schedule: Schedule = (run) => limiter.schedule(async () => run())
      jobs('AB')(schedule, log)
      await sleep(150)
      limiter.updateSettings({ minTime: 500 })
      await sleep(50)
      jobs('CD')(schedule, log)
    },
    async (log) => {
      const pacer = new Pacer(smoothBursty({ rate: 10, maxBurst: 0 }), { clock })
      const schedule: Schedule = (run) => pacer.throttle(run)
      jobs('AB')(schedule, log)
      await sleep(150)
      pacer.setRate(2)
      await sleep(50)
      jobs('CD')(schedule, log)
    },
  ))

test('a shorter distance at run time, after a pause', () =>
  similarOutcome(
    ['0 A', '100 B', '200 C', '300 D'],
    async (log) => {
      const limiter = new Bottleneck({ minTime: 1000 })
      limiter.updateSettings({ minTime: 100 })
      jobs('ABCD')((run) => limiter.schedule(async () => run()), log)
    },
    async (log) => {
      const pacer = every(1000)
      pacer.setRate(10)
      jobs('ABCD')((run) => pacer.throttle(run), log)
    },
  ))

test('only a bound of what runs', () =>
  similarOutcome(
    ['0 A', '0 B', '100 C', '100 D', '200 E'],
    async (log) => {
      const limiter = new Bottleneck({ maxConcurrent: 2 })
      jobs('ABCDE', 100)((run) => limiter.schedule(async () => run()), log)
    },
    async (log) => {
      const pacer = new Pacer('2 at once', { clock })
      jobs('ABCDE', 100)((run) => pacer.throttle(run), log)
    },
  ))

describe('the end', () => {
  const scenario = (schedule: Schedule, log: Log) => {
    for (const name of 'ABC') {
      schedule(() => sleep(100)).then(
        () => log(name),
        () => log(`${name} dropped`),
      )
    }
  }

  test('drops what waits, and waits for what runs', () =>
    similarOutcome(
      ['50 B dropped', '50 C dropped', '50 late dropped', '100 A', '100 ended'],
      async (log) => {
        const limiter = new Bottleneck({ maxConcurrent: 1 })
        scenario((run) => limiter.schedule(async () => run()), log)
        await sleep(50)
        const ended = limiter.stop()
        await Promise.resolve()
        await limiter.schedule(async () => {}).catch(() => log('late dropped'))
        await ended
        log('ended')
      },
      async (log) => {
        const pacer = unlimited({ concurrency: 1 })
        scenario((run) => pacer.throttle(run), log)
        await sleep(50)
        pacer.close()
        await pacer.throttle(() => {}).catch(() => log('late dropped'))
        await pacer.drain()
        log('ended')
      },
    ))

  test('or waits for all', () =>
    similarOutcome(
      ['100 A', '200 B', '300 C', '300 ended'],
      async (log) => {
        const limiter = new Bottleneck({ maxConcurrent: 1 })
        scenario((run) => limiter.schedule(async () => run()), log)
        await limiter.stop({ dropWaitingJobs: false })
        log('ended')
      },
      async (log) => {
        const pacer = unlimited({ concurrency: 1 })
        scenario((run) => pacer.throttle(run), log)
        await pacer.drain()
        pacer.close()
        log('ended')
      },
    ))
})

test('a chain of limiters', () =>
  similarOutcome(
    ['0 A1', '100 B1', '300 A2', '500 B2'],
    (log) => {
      const all = new Bottleneck({ minTime: 100 })
      const [a, b] = [new Bottleneck({ minTime: 300 }), new Bottleneck({ minTime: 500 })]
      a.chain(all)
      b.chain(all)
      for (const n of [1, 2]) {
        void a.schedule(async () => log(`A${n}`))
        void b.schedule(async () => log(`B${n}`))
      }
    },
    (log) => {
      const all = every(100)
      const [a, b] = [every(300), every(500)]
      for (const n of [1, 2]) {
        void a.throttle(() => all.throttle(() => log(`A${n}`)))
        void b.throttle(() => all.throttle(() => log(`B${n}`)))
      }
    },
  ))

test('a limiter for each key', () =>
  similarOutcome(
    ['0 ann 1', '0 bob 1', '200 ann 2', '200 bob 2'],
    (log) => {
      const group = new Bottleneck.Group({ minTime: 200 })
      for (const n of [1, 2]) {
        for (const key of ['ann', 'bob']) void group.key(key).schedule(async () => log(`${key} ${n}`))
      }
    },
    (log) => {
      const pacer = every(200)
      for (const n of [1, 2]) {
        for (const key of ['ann', 'bob']) void pacer.key(key).throttle(() => log(`${key} ${n}`))
      }
    },
  ))

test('counts, and whether a job would run now', () =>
  similarOutcome(
    ['0 runs now true', '0 waiting 2, running 1', '0 runs now false', '300 waiting 0, running 0'],
    async (log) => {
      const limiter = new Bottleneck({ maxConcurrent: 1 })
      const show = () => {
        const { QUEUED, EXECUTING } = limiter.counts()
        log(`waiting ${QUEUED}, running ${EXECUTING}`)
      }
      log(`runs now ${await limiter.check()}`)
      for (let count = 0; count < 3; count++) void limiter.schedule(() => sleep(100))
      await sleep(10)
      show()
      log(`runs now ${await limiter.check()}`)
      await new Promise<void>((resolve) => void limiter.once('idle', resolve))
      show()
    },
    async (log) => {
      const pacer = unlimited({ concurrency: 1 })
      const show = () => log(`waiting ${pacer.waiting}, running ${pacer.running}`)
      const runsNow = () => pacer.running < 1 && pacer.waiting === 0
      log(`runs now ${runsNow()}`)
      for (let count = 0; count < 3; count++) void pacer.throttle(() => sleep(100))
      await sleep(10)
      show()
      log(`runs now ${runsNow()}`)
      await pacer.drain()
      show()
    },
  ))
