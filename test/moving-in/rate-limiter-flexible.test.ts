/* What the README of rate-limiter-flexible shows, on it and on headgate. */
import {
  BurstyRateLimiter,
  RateLimiterMemory,
  RateLimiterQueue,
  RateLimiterRes,
  RateLimiterUnion,
} from 'rate-limiter-flexible'
import { test } from 'vitest'
import { fixedWindow, memoryStore, RateLimiter, wallClock } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { type Log, sameOutcome, sleep } from './same-outcome.ts'

const clock = wallClock
const windows = (limit: number, window: string, name?: string) =>
  fixedWindow({ limit, window, align: 'first-request', ...(name === undefined ? {} : { name }) })
const sixASecond = () => new RateLimiter({ policies: windows(6, '1s'), store: memoryStore({ clock }) })

/** What its promise resolves or rejects with. */
const settled = (promise: Promise<RateLimiterRes>) =>
  promise.then(
    (result) => ({ allowed: true, result }),
    (result: unknown) => {
      if (result instanceof RateLimiterRes) return { allowed: false, result }
      throw result
    },
  )

test('points by key, in windows that open with the first request', async () => {
  await sameOutcome(
    [
      '0 ann true, 4 left, next window in 1000',
      '0 ann true, 2 left, next window in 1000',
      '0 bob true, 4 left, next window in 1000',
      '300 ann true, 0 left, next window in 700',
      '300 ann false, 0 left, next window in 700',
      '1000 ann true, 4 left, next window in 1000',
    ],
    async (log) => {
      const limiter = new RateLimiterMemory({ points: 6, duration: 1 })
      const consume = async (key: string) => {
        const { allowed, result } = await settled(limiter.consume(key, 2))
        log(`${key} ${allowed}, ${result.remainingPoints} left, next window in ${result.msBeforeNext}`)
      }
      await scenario(consume)
    },
    async (log) => {
      const limiter = sixASecond()
      const consume = async (key: string) => {
        const { allowed, remaining, resetAfter } = await limiter.consume(key, { cost: 2 })
        log(`${key} ${allowed}, ${remaining} left, next window in ${resetAfter}`)
      }
      await scenario(consume)
    },
  )
  async function scenario(consume: (key: string) => Promise<void>) {
    for (const key of ['ann', 'ann', 'bob']) await consume(key)
    await sleep(300)
    await consume('ann')
    await consume('ann')
    await sleep(700)
    await consume('ann')
  }
})

test('the numbers of a result, and fields of a response', async () => {
  await sameOutcome(
    ['0 used 5, left 1, limit 6, reset 1767225601', '0 retry after 1'],
    async (log) => {
      const points = 6
      const limiter = new RateLimiterMemory({ points, duration: 1 })
      const { consumedPoints, remainingPoints, msBeforeNext } = await limiter.consume('ann', 5)
      const reset = Math.ceil((Date.now() + msBeforeNext) / 1000)
      log(`used ${consumedPoints}, left ${remainingPoints}, limit ${points}, reset ${reset}`)
      const { result } = await settled(limiter.consume('ann', 5))
      log(`retry after ${result.msBeforeNext / 1000}`)
    },
    async (log) => {
      const limiter = sixASecond()
      const { policies, remaining, limit, resetAfter } = await limiter.consume('ann', { cost: 5 })
      const reset = Math.ceil((Date.now() + resetAfter) / 1000)
      log(`used ${policies[0]?.used}, left ${remaining}, limit ${limit}, reset ${reset}`)
      const { retryAfter } = await limiter.consume('ann', { cost: 5 })
      log(`retry after ${retryAfter / 1000}`)
    },
  )
})

test('get, penalty, reward and delete', async () => {
  await sameOutcome(
    ['0 used 0', '0 used 3', '0 used 2', '0 used 0', '0 used 8', '0 false'],
    async (log) => {
      const limiter = new RateLimiterMemory({ points: 6, duration: 1 })
      const used = async () => (await limiter.get('ann'))?.consumedPoints ?? 0
      log(`used ${await used()}`)
      await limiter.penalty('ann', 3)
      log(`used ${await used()}`)
      await limiter.reward('ann')
      log(`used ${await used()}`)
      await limiter.delete('ann')
      log(`used ${await used()}`)
      await limiter.penalty('ann', 8)
      log(`used ${await used()}`)
      log(`${(await settled(limiter.consume('ann'))).allowed}`)
    },
    async (log) => {
      const limiter = sixASecond()
      const used = async () => (await limiter.peek('ann')).policies[0]?.used
      log(`used ${await used()}`)
      await limiter.charge('ann', { cost: 3 })
      log(`used ${await used()}`)
      await limiter.refund('ann')
      log(`used ${await used()}`)
      await limiter.reset('ann')
      log(`used ${await used()}`)
      await limiter.charge('ann', { cost: 8 })
      log(`used ${await used()}`)
      log(`${(await limiter.consume('ann')).allowed}`)
    },
  )
})

test('set the points of a key', async () => {
  await sameOutcome(
    [
      '300 used 4, next window in 1000',
      '300 used 1, next window in 1000',
      '300 used 0',
      '300 used 5, next window in 1000',
    ],
    async (log) => {
      const limiter = new RateLimiterMemory({ points: 6, duration: 1 })
      const set = async (points: number) => {
        await limiter.set('ann', points, 1)
        const result = await limiter.get('ann')
        shown(result?.consumedPoints ?? 0, result?.msBeforeNext ?? 0, log)
      }
      await limiter.consume('ann', 2)
      await sleep(300)
      for (const points of [4, 1, 0, 5]) await set(points)
    },
    async (log) => {
      const limiter = sixASecond()
      const set = async (cost: number) => {
        await limiter.reset('ann')
        const { policies, resetAfter } = cost > 0 ? await limiter.charge('ann', { cost }) : await limiter.peek('ann')
        shown(policies[0]?.used ?? 0, resetAfter, log)
      }
      await limiter.consume('ann', { cost: 2 })
      await sleep(300)
      for (const points of [4, 1, 0, 5]) await set(points)
    },
  )
  function shown(used: number, next: number, log: Log) {
    log(used === 0 ? 'used 0' : `used ${used}, next window in ${next}`)
  }
})

test('a ban after too many points', async () => {
  const scenario = async (consume: () => Promise<boolean>, log: Log) => {
    for (let calls = 0; calls < 3; calls++) log(`${await consume()}`)
    for (const pause of [1500, 1000, 2600]) {
      await sleep(pause)
      log(`${await consume()}`)
    }
  }
  await sameOutcome(
    ['0 true', '0 true', '0 false', '1500 false', '2500 false', '5100 true'],
    (log) => {
      const limiter = new RateLimiterMemory({ points: 2, duration: 1, blockDuration: 5 })
      return scenario(async () => (await settled(limiter.consume('ann'))).allowed, log)
    },
    (log) => {
      const limiter = new RateLimiter({
        policies: windows(2, '1s'),
        penalty: { after: 1, within: '1s', ban: '5s' },
        store: memoryStore({ clock }),
      })
      return scenario(async () => (await limiter.consume('ann')).allowed, log)
    },
  )
})

test('a union of limiters', async () => {
  await sameOutcome(
    ['0 true', '0 true', '0 false', '1000 true', '1000 false'],
    async (log) => {
      const union = new RateLimiterUnion(
        new RateLimiterMemory({ keyPrefix: 'second', points: 2, duration: 1 }),
        // Refused requests have counted here, too.
        new RateLimiterMemory({ keyPrefix: 'minute', points: 4, duration: 60 }),
      )
      const consume = () =>
        union.consume('ann').then(
          () => log('true'),
          () => log('false'),
        )
      for (let calls = 0; calls < 3; calls++) await consume()
      await sleep(1000)
      for (let calls = 0; calls < 2; calls++) await consume()
    },
    async (log) => {
      const policies = [windows(2, '1s', 'second'), windows(3, '1m', 'minute')]
      const limiter = new RateLimiter({ policies, store: memoryStore({ clock }) })
      for (let calls = 0; calls < 3; calls++) log(`${(await limiter.consume('ann')).allowed}`)
      await sleep(1000)
      for (let calls = 0; calls < 2; calls++) log(`${(await limiter.consume('ann')).allowed}`)
    },
  )
})

test('a limiter for bursts behind the main one', async () => {
  const scenario = async (consume: () => Promise<boolean>, log: Log) => {
    const admitted = async () => {
      let count = 0
      for (let calls = 0; calls < 10; calls++) if (await consume()) count++
      log(`${count} admitted`)
    }
    await admitted()
    for (const pause of [1000, 1000, 8000]) {
      await sleep(pause)
      await admitted()
    }
  }
  await sameOutcome(
    ['0 7 admitted', '1000 2 admitted', '2000 2 admitted', '10000 7 admitted'],
    (log) => {
      const limiter = new BurstyRateLimiter(
        new RateLimiterMemory({ points: 2, duration: 1 }),
        new RateLimiterMemory({ keyPrefix: 'burst', points: 5, duration: 10 }),
      )
      return scenario(
        () =>
          limiter.consume('ann').then(
            () => true,
            () => false,
          ),
        log,
      )
    },
    (log) => {
      const store = memoryStore({ clock })
      const main = new RateLimiter({ name: 'main', policies: windows(2, '1s'), store })
      const burst = new RateLimiter({ name: 'burst', policies: windows(5, '10s'), store })
      return scenario(async () => (await main.consume('ann')).allowed || (await burst.consume('ann')).allowed, log)
    },
    11_000,
  )
})

test('a queue of requests', async () => {
  const callAll = (wait: () => Promise<unknown>, log: Log) => {
    for (const name of ['A', 'B', 'C', 'D', 'E']) {
      wait().then(
        () => log(name),
        () => setTimeout(() => log(`${name} refused`), 1),
      )
    }
  }
  await sameOutcome(
    ['0 A', '0 B', '1 E refused', '1000 C', '1000 D'],
    (log) => {
      const queue = new RateLimiterQueue(new RateLimiterMemory({ points: 2, duration: 1 }), { maxQueueSize: 2 })
      callAll(() => queue.removeTokens(1), log)
    },
    (log) => {
      const pacer = new Pacer(windows(2, '1s'), { maxQueue: 2, clock })
      callAll(() => pacer.acquire(), log)
    },
  )
})
