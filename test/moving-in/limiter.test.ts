/* What the README of limiter shows, on limiter and on headgate. */
import { createServer, type RequestListener } from 'node:http'
import { RateLimiter as Peer, TokenBucket } from 'limiter'
import { expect, test, vi } from 'vitest'
import { rateLimit } from '../../adapters/node.ts'
import { gcra, memoryStore, RateLimiter, tokenBucket, wallClock } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { get, serve } from '../support/frameworks.ts'
import { type Log, sameOutcome } from './same-outcome.ts'

const clock = wallClock

test('one message every 250 ms', async () => {
  const send = (wait: () => Promise<unknown>) => (log: Log) =>
    Promise.all(
      ['one', 'two', 'three'].map(async (message) => {
        await wait()
        log(message)
      }),
    )
  await sameOutcome(
    ['0 one', '250 two', '500 three'],
    (log) => {
      const limiter = new Peer({ tokensPerInterval: 1, interval: 250 })
      return send(() => limiter.removeTokens(1))(log)
    },
    (log) => {
      const pacer = new Pacer(gcra({ limit: 1, window: '250ms' }), { clock })
      return send(() => pacer.acquire())(log)
    },
  )
})

test('a server with one budget refuses at once, and says how long to wait', async () => {
  vi.useFakeTimers({ toFake: ['Date', 'performance'] })
  const peer = new Peer({ tokensPerInterval: 10, interval: 'second' })
  const theirs: RequestListener = (_request, response) => {
    if (!peer.tryRemoveTokens(1)) {
      response.writeHead(429, { 'Retry-After': `${Math.max(1, Math.ceil(peer.getWaitTime(1) / 1000))}` })
    }
    response.end()
  }
  const limiter = new RateLimiter({
    policies: tokenBucket({ limit: 10, window: '1s' }),
    store: memoryStore({ clock }),
  })
  const limit = rateLimit(limiter, { keys: () => 'everybody' })
  const ours: RequestListener = async (request, response) => {
    if (await limit(request, response)) response.end()
  }
  const outcomes = []
  for (const listener of [theirs, ours]) {
    const { url, close } = await serve(createServer(listener))
    const answers = []
    for (let requests = 0; requests < 12; requests++) {
      const { status, headers } = await get(url)
      answers.push([status, headers['retry-after']])
    }
    outcomes.push(answers)
    await close()
  }
  vi.useRealTimers()
  expect(outcomes[0]?.slice(9)).toEqual([
    [200, undefined],
    [429, '1'],
    [429, '1'],
  ])
  expect(outcomes[1]).toEqual(outcomes[0])
})

test('the time to wait and what is left, without taking anything', async () => {
  await sameOutcome(
    ['0 left 5', '0 wait 0', '0 took true', '0 left 0', '0 wait 1000', '500 took false', '1000 took true'],
    async (log) => {
      const limiter = new Peer({ tokensPerInterval: 5, interval: 1000 })
      log(`left ${limiter.getTokensRemaining()}`)
      log(`wait ${limiter.getWaitTime(5)}`)
      log(`took ${limiter.tryRemoveTokens(5)}`)
      log(`left ${limiter.getTokensRemaining()}`)
      log(`wait ${limiter.getWaitTime(5)}`)
      setTimeout(() => log(`took ${limiter.tryRemoveTokens(5)}`), 500)
      setTimeout(() => log(`took ${limiter.tryRemoveTokens(5)}`), 1000)
    },
    async (log) => {
      const policies = tokenBucket({ limit: 5, window: '1s' })
      const limiter = new RateLimiter({ policies, store: memoryStore({ clock }) })
      log(`left ${(await limiter.peek('all')).remaining}`)
      log(`wait ${(await limiter.peek('all', { cost: 5 })).retryAfter}`)
      log(`took ${limiter.consumeSync('all', { cost: 5 }).allowed}`)
      log(`left ${(await limiter.peek('all')).remaining}`)
      log(`wait ${(await limiter.peek('all', { cost: 5 })).retryAfter}`)
      setTimeout(() => log(`took ${limiter.consumeSync('all', { cost: 5 }).allowed}`), 500)
      setTimeout(() => log(`took ${limiter.consumeSync('all', { cost: 5 }).allowed}`), 1000)
    },
  )
})

test('a refusal at once in place of a wait', async () => {
  await sameOutcome(
    ['0 1 left', '0 0 left', '0 refused'],
    async (log) => {
      const limiter = new Peer({ tokensPerInterval: 2, interval: 'hour', fireImmediately: true })
      for (let calls = 0; calls < 3; calls++) {
        const left = await limiter.removeTokens(1)
        log(left < 0 ? 'refused' : `${left} left`)
      }
    },
    async (log) => {
      const limiter = new RateLimiter({ policies: tokenBucket({ limit: 2, window: '1h' }) })
      for (let calls = 0; calls < 3; calls++) {
        const { allowed, remaining } = await limiter.consume('all')
        log(allowed ? `${remaining} left` : 'refused')
      }
    },
  )
})

test('a budget of bytes that begins empty, with bursts', async () => {
  const [rate, size] = [50 * 1024, 150 * 1024]
  const chunks = [new Uint8Array(1024), new Uint8Array(2048)]
  await sameOutcome(
    ['20 1024', '60 2048'],
    async (log) => {
      const bucket = new TokenBucket({ bucketSize: size, tokensPerInterval: rate, interval: 'second' })
      for (const { byteLength } of chunks) {
        await bucket.removeTokens(byteLength)
        log(`${byteLength}`)
      }
    },
    async (log) => {
      const pacer = new Pacer(tokenBucket({ limit: rate, window: '1s', burst: size }), { clock })
      await pacer.acquire(size)
      for (const { byteLength } of chunks) {
        await pacer.acquire(byteLength)
        log(`${byteLength}`)
      }
    },
  )
})

test('buckets that share a parent: all are charged or none', async () => {
  await sameOutcome(
    ['0 ann true', '0 bob true', '0 ann false', '0 bob false', '0 bob true'],
    async (log) => {
      const parent = new TokenBucket({ bucketSize: 5, tokensPerInterval: 5, interval: 'hour' })
      const child = () =>
        new TokenBucket({ bucketSize: 3, tokensPerInterval: 3, interval: 'hour', parentBucket: parent })
      const buckets = { ann: child(), bob: child() }
      for (const bucket of [parent, ...Object.values(buckets)]) bucket.content = bucket.bucketSize
      const take = (name: 'ann' | 'bob', count: number) => log(`${name} ${buckets[name].tryRemoveTokens(count)}`)
      take('ann', 3)
      take('bob', 1)
      take('ann', 1)
      take('bob', 2)
      take('bob', 1)
    },
    async (log) => {
      const limiter = new RateLimiter({
        policies: [
          tokenBucket({ name: 'each', limit: 3, window: '1h', scope: 'user' }),
          tokenBucket({ name: 'together', limit: 5, window: '1h', scope: 'all' }),
        ],
      })
      const take = (user: string, cost: number) =>
        log(`${user} ${limiter.consumeSync({ user, all: 'all' }, { cost }).allowed}`)
      take('ann', 3)
      take('bob', 1)
      take('ann', 1)
      take('bob', 2)
      take('bob', 1)
    },
  )
})
