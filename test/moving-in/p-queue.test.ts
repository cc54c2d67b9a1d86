/* What the README of p-queue shows, on p-queue and on headgate. */
import PQueue, { TimeoutError } from 'p-queue'
import { describe, expect, test } from 'vitest'
import { fixedWindow, slidingLog, wallClock } from '../../src/index.ts'
import { Pacer, type PacerOptions } from '../../src/pacer/index.ts'
import { type Example, type Log, play, sameOutcome, sleep } from './same-outcome.ts'

const clock = wallClock
/** A pacer that only orders and bounds what runs. */
const pacerOf = (options: PacerOptions) =>
  new Pacer(slidingLog({ limit: 1_000_000, window: '1ms' }), { clock, ...options })

type Add = (name: string, run: () => unknown, options?: { priority?: number }) => void

/** Adds functions to a queue of p-queue and to a pacer of the same concurrency. */
async function bothQueues(
  outcome: string[],
  concurrency: number,
  example: (add: Add, log: Log) => unknown,
): Promise<void> {
  const on =
    (queue: () => (run: () => unknown, options: { priority?: number }) => Promise<unknown>): Example =>
    (log) => {
      const add = queue()
      return example((name, run, options = {}) => void add(run, options).then(() => log(name)), log)
    }
  await sameOutcome(
    outcome,
    on(() => {
      const queue = new PQueue({ concurrency })
      return (run, options) => queue.add(async () => run(), options)
    }),
    on(() => {
      const pacer = pacerOf({ concurrency })
      return (run, options) => pacer.throttle(run, options)
    }),
  )
}

test('one at a time, in order', () =>
  bothQueues(['300 first', '400 second', '600 third'], 1, (add) => {
    add('first', () => sleep(300))
    add('second', () => sleep(100))
    add('third', () => sleep(200))
  }))

test('two at a time', () =>
  bothQueues(['100 second', '300 first', '300 third'], 2, (add) => {
    add('first', () => sleep(300))
    add('second', () => sleep(100))
    add('third', () => sleep(200))
  }))

test('a higher priority goes first', () =>
  bothQueues(['10 A', '20 D', '30 B', '40 C'], 1, (add) => {
    add('A', () => sleep(10), { priority: 1 })
    add('B', () => sleep(10), { priority: 1 })
    add('C', () => sleep(10), { priority: 0 })
    add('D', () => sleep(10), { priority: 2 })
  }))

test.each([false, true])('at most so many in an interval, strict: %s', async (strict) => {
  const addSix = (add: (run: () => void) => void) => (log: Log) => {
    for (const name of ['A', 'B', 'C', 'D', 'E', 'F']) add(() => log(name))
  }
  await sameOutcome(
    ['0 A', '0 B', '1000 C', '1000 D', '2000 E', '2000 F'],
    (log) => {
      const queue = new PQueue({ interval: 1000, intervalCap: 2, strict })
      return addSix((run) => void queue.add(run))(log)
    },
    (log) => {
      const policy = strict
        ? slidingLog({ limit: 2, window: '1s' })
        : fixedWindow({ limit: 2, window: '1s', align: 'first-request' })
      const pacer = new Pacer(policy, { clock })
      return addSix((run) => void pacer.throttle(run))(log)
    },
  )
})

describe('timeouts', () => {
  const tasks = async (
    add: (run: () => Promise<void>, timeout: number | undefined) => Promise<unknown>,
    timedOut: (error: unknown) => boolean,
    log: Log,
  ) => {
    const show = (name: string, task: Promise<unknown>) =>
      void task.then(
        () => log(`${name} done`),
        (error) => log(`${name} ${timedOut(error) ? 'timed out' : error}`),
      )
    show(
      'fast',
      add(() => sleep(100), 500),
    )
    show(
      'slow',
      add(() => sleep(900), 1000),
    )
    show(
      'hung',
      add(() => new Promise(() => {}), 500),
    )
    show(
      'behind',
      add(() => sleep(100), undefined),
    )
  }

  test('for all tasks or for one, and the place is free again', () =>
    sameOutcome(
      ['100 fast done', '600 hung timed out', '700 behind done', '900 slow done'],
      (log) => {
        const queue = new PQueue({ concurrency: 2, timeout: 500 })
        return tasks(
          (run, timeout) => queue.add(run, timeout === undefined ? {} : { timeout }),
          (error) => error instanceof TimeoutError,
          log,
        )
      },
      (log) => {
        const pacer = pacerOf({ concurrency: 2 })
        return tasks(
          (run, runTimeout) => pacer.throttle(run, { runTimeout }),
          (error) => (error as { code?: string }).code === 'HEADGATE_RUN_TIMEOUT',
          log,
        )
      },
    ))
})

describe('a signal', () => {
  test('ends a task that waits', async () => {
    const scenario = async (add: (run: () => unknown, signal: AbortSignal) => Promise<unknown>, log: Log) => {
      const controller = new AbortController()
      for (const name of ['A', 'B', 'C']) {
        add(() => sleep(100).then(() => log(name)), controller.signal).catch((reason) => log(`${name}: ${reason}`))
      }
      await sleep(50)
      controller.abort('enough')
    }
    const outcome = ['50 B: enough', '50 C: enough', '100 A']
    // p-queue also rejects the promise of the task that runs. A pacer leaves that to the function.
    const theirs = await play((log) => {
      const queue = new PQueue({ concurrency: 1 })
      return scenario((run, signal) => queue.add(async () => run(), { signal }), log)
    })
    expect(theirs.filter((event) => event !== '50 A: enough').toSorted()).toEqual(outcome.toSorted())
    const ours = await play((log) => {
      const pacer = pacerOf({ concurrency: 1 })
      return scenario((run, signal) => pacer.throttle(run, { signal }), log)
    })
    expect(ours).toEqual(outcome)
  })

  test('reaches a task that runs', async () => {
    const controller = () => {
      const abort = new AbortController()
      setTimeout(() => abort.abort('enough'), 50)
      return abort.signal
    }
    const run = (log: Log) => async (signal: AbortSignal | undefined) => {
      signal?.addEventListener('abort', () => log(`cancelled: ${signal.reason}`))
      await sleep(100)
    }
    await sameOutcome(
      ['50 cancelled: enough'],
      (log) => {
        new PQueue().add(({ signal }) => run(log)(signal), { signal: controller() }).catch(() => {})
      },
      (log) => {
        pacerOf({}).throttle(run(log), { signal: controller(), runTimeout: '1m' })
      },
    )
  })
})

test('pause, go on, and wait until everything has ended', () =>
  sameOutcome(
    ['0 size 3', '500 A', '500 B', '600 C', '600 idle', '600 size 0'],
    async (log) => {
      const queue = new PQueue({ concurrency: 2, autoStart: false })
      for (const name of ['A', 'B', 'C']) void queue.add(() => sleep(100).then(() => log(name)))
      log(`size ${queue.size}`)
      await sleep(400)
      queue.start()
      await queue.onIdle()
      log('idle')
      log(`size ${queue.size}`)
    },
    async (log) => {
      const pacer = pacerOf({ concurrency: 2 })
      pacer.pause()
      for (const name of ['A', 'B', 'C']) void pacer.throttle(() => sleep(100).then(() => log(name)))
      log(`size ${pacer.waiting}`)
      await sleep(400)
      pacer.resume()
      await pacer.drain()
      log('idle')
      log(`size ${pacer.waiting}`)
    },
  ))

test('a producer waits until the queue is short enough, or empty', () =>
  sameOutcome(
    ['0 adds 1', '0 adds 2', '0 adds 3', '100 adds 4', '200 adds 5', '400 empty'],
    async (log) => {
      const queue = new PQueue({ concurrency: 1 })
      for (let job = 1; job <= 5; job++) {
        await queue.onSizeLessThan(2)
        log(`adds ${job}`)
        void queue.add(() => sleep(100))
      }
      await queue.onSizeLessThan(1)
      log('empty')
    },
    async (log) => {
      const pacer = pacerOf({ concurrency: 1 })
      for (let job = 1; job <= 5; job++) {
        await pacer.waitingBelow(2)
        log(`adds ${job}`)
        void pacer.throttle(() => sleep(100))
      }
      await pacer.waitingBelow(1)
      log('empty')
    },
  ))

test('stop at the first error', () =>
  sameOutcome(
    ['0 A', '100 failed: broken', '200 C'],
    async (log) => {
      const queue = new PQueue({ concurrency: 1 })
      queue.add(async () => log('A')).catch(() => {})
      queue.add(() => sleep(100).then(() => Promise.reject('broken'))).catch(() => {})
      queue.add(() => sleep(100).then(() => log('C'))).catch(() => {})
      queue.add(async () => log('D')).catch(() => {})
      try {
        await Promise.race([queue.onError(), queue.onIdle()])
      } catch (error) {
        queue.pause()
        log(`failed: ${error}`)
      }
    },
    async (log) => {
      const pacer = pacerOf({ concurrency: 1 })
      const jobs = [
        pacer.throttle(async () => log('A')),
        pacer.throttle(() => sleep(100).then(() => Promise.reject('broken'))),
        pacer.throttle(() => sleep(100).then(() => log('C'))),
        pacer.throttle(async () => log('D')),
      ]
      try {
        await Promise.all(
          jobs.map((job) =>
            job.catch((error) => {
              pacer.close()
              throw error
            }),
          ),
        )
      } catch (error) {
        log(`failed: ${error}`)
      }
    },
  ))

test('results in the order of the tasks', () =>
  sameOutcome(
    ['300 1,2,3'],
    async (log) => {
      const queue = new PQueue({ concurrency: 4 })
      const results = await Promise.all([3, 2, 1].map((n) => queue.add(() => sleep(100 * n).then(() => 4 - n))))
      log(`${results}`)
    },
    async (log) => {
      const pacer = pacerOf({ concurrency: 4 })
      const results = await Promise.all([3, 2, 1].map((n) => pacer.throttle(() => sleep(100 * n).then(() => 4 - n))))
      log(`${results}`)
    },
  ))

test('the numbers of what waits and runs', () =>
  sameOutcome(
    ['0 waiting 2, running 2', '100 waiting 0, running 2', '200 waiting 0, running 0'],
    async (log) => {
      const queue = new PQueue({ concurrency: 2 })
      const show = () => log(`waiting ${queue.size}, running ${queue.pending}`)
      for (let job = 0; job < 4; job++) void queue.add(() => sleep(100))
      show()
      await queue.onSizeLessThan(1)
      show()
      await queue.onIdle()
      show()
    },
    async (log) => {
      const pacer = pacerOf({ concurrency: 2 })
      const show = () => log(`waiting ${pacer.waiting}, running ${pacer.running}`)
      for (let job = 0; job < 4; job++) void pacer.throttle(() => sleep(100))
      show()
      await pacer.waitingBelow(1)
      show()
      await pacer.drain()
      show()
    },
  ))
