import { channel } from 'node:diagnostics_channel'
import { readFileSync } from 'node:fs'
import express from 'express'
import request from 'supertest'
import { afterEach, describe, expect, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { concurrency, fixedWindow, memoryStore, RateLimiter, type Store, tokenBucket } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { HeadgateInstrumentation } from '../../src/telemetry/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { FailingStore } from '../support/failing-store.ts'
import { metered } from '../support/telemetry.ts'

let running: HeadgateInstrumentation | undefined
afterEach(() => running?.disable())

/** An instrumentation, and a function that reads a metric by the values of its attributes. */
function observe(): (name: string) => Promise<Record<string, number>> {
  const { meterProvider, read } = metered()
  running = new HeadgateInstrumentation({ meterProvider })
  return read
}

const clock = () => ({ clock: new ManualClock().now })

describe('headgate.decisions', () => {
  test('counts each call once, by its binding policy', async () => {
    const read = observe()
    const policies = ['2/1s', fixedWindow({ name: 'hour', limit: 100, window: '1h' })]
    const limiter = new RateLimiter({ name: 'api', policies, store: memoryStore(clock()) })
    for (let n = 0; n < 5; n++) await limiter.consume('ann')
    limiter.consumeSync('bob')
    await limiter.peek('ann')
    expect(await read('headgate.decisions')).toEqual({ 'api 1s admitted': 3, 'api 1s refused': 3 })
    expect(await read('headgate.units')).toEqual({ 'api 1s admitted': 3, 'api 1s refused': 3 })
    expect(await read('headgate.near_limit')).toEqual({ 'api 1s': 1 })
  })

  test('counts a refusal that is not enforced as a shadow: of a middleware and of a policy', async () => {
    const read = observe()
    const app = express()
    const store = memoryStore(clock())
    app.get('/shadow', rateLimit({ name: 'trial', policies: '1/1h', enforce: 0, store }))
    app.get('/enforced', rateLimit({ name: 'real', policies: '1/1h', store }))
    app.use((_, response) => void response.send('ok'))
    for (const path of ['/shadow', '/shadow', '/enforced', '/enforced']) await request(app).get(path)
    const policies = ['10/1h', tokenBucket({ name: 'tight', limit: 1, window: '1h', shadow: true })]
    const limiter = new RateLimiter({ name: 'mixed', policies, store })
    await limiter.consume('ann')
    await limiter.consume('ann')
    expect(await read('headgate.decisions')).toEqual({
      'trial 1h admitted': 1,
      'trial 1h shadow': 1,
      'real 1h admitted': 1,
      'real 1h refused': 1,
      'mixed 1h admitted': 1,
      'mixed tight shadow': 1,
    })
  })

  test('counts a call that a penalty refuses as banned', async () => {
    const read = observe()
    const penalty = { after: 2, within: '1h', ban: '2h' } as const
    const limiter = new RateLimiter({ name: 'login', policies: '1/1h', penalty, store: memoryStore(clock()) })
    for (let n = 0; n < 4; n++) await limiter.consume('ann')
    expect(await read('headgate.decisions')).toEqual({
      'login 1h admitted': 1,
      'login 1h refused': 1,
      'login penalty banned': 2,
    })
  })

  test('counts a call that a ban by hand refuses as banned, also beside a penalty', async () => {
    const read = observe()
    const penalty = { after: 2, within: '1h', ban: '2h' } as const
    const store = memoryStore(clock())
    const plain = new RateLimiter({ name: 'api', policies: '9/1h', store })
    const strict = new RateLimiter({ name: 'login', policies: '1/1h', penalty, store })
    for (const limiter of [plain, strict]) {
      await limiter.ban('ann', '1h', { reason: 'scans' })
      await limiter.consume('ann')
    }
    await plain.reserve('ann')
    expect(await read('headgate.decisions')).toEqual({ 'api ban banned': 2, 'login ban banned': 1 })
  })

  test.each([
    ['local', { 'api 1h fallback': 1, 'api 1h refused': 1 }],
    ['open', { 'api 1h open': 2 }],
    ['closed', { 'api error': 2 }],
    ['throw', { 'api error': 2 }],
  ] as const)('tells what happens to calls while the store fails: %s', async (onStoreError, expected) => {
    const read = observe()
    const store = new FailingStore(new ManualClock())
    store.mode = 'fails'
    const limiter = new RateLimiter({ name: 'api', policies: '1/1h', store, onStoreError })
    for (let n = 0; n < 2; n++) await limiter.consume('ann').catch(() => undefined)
    expect(await read('headgate.decisions')).toEqual(expected)
  })

  test('counts an error of a synchronous store, and no mistake of the caller', async () => {
    const read = observe()
    const broken: Store = {
      synchronous: true,
      open: () => ({
        run() {
          throw new Error('broken')
        },
      }),
    }
    const limiter = new RateLimiter({ name: 'api', policies: '1/1h', store: broken })
    await expect(limiter.consume('ann')).rejects.toThrow('broken')
    await expect(limiter.reserve('ann')).rejects.toThrow('broken')
    await expect(limiter.consume(5 as never)).rejects.toThrow('A key must be')
    expect(await read('headgate.decisions')).toEqual({ 'api error': 2 })
  })

  test('compares a candidate, whose refusals are no refusals', async () => {
    const read = observe()
    const store = memoryStore(clock())
    const limiter = new RateLimiter({ name: 'api', policies: '3/1h', candidate: '2/1h', store })
    const looser = new RateLimiter({ name: 'login', policies: '1/1h', candidate: '2/1h', store })
    for (let n = 0; n < 4; n++) await limiter.consume('ann')
    for (let n = 0; n < 2; n++) await looser.reserve('ann')
    expect(await read('headgate.candidate')).toEqual({
      'api same': 3,
      'api newly_refused': 1,
      'login same': 1,
      'login no_longer_refused': 1,
    })
    expect(await read('headgate.decisions')).toEqual({
      'api 1h admitted': 3,
      'api 1h refused': 1,
      'api~candidate 1h admitted': 2,
      'api~candidate 1h shadow': 2,
      'login 1h admitted': 1,
      'login 1h refused': 1,
      'login~candidate 1h admitted': 2,
    })
  })

  test('has a bounded number of series, whatever the limiters are called', async () => {
    const read = observe()
    for (let n = 0; n < 400; n++) {
      const limiter = new RateLimiter({ name: `tenant ${n}`, policies: tokenBucket({ limit: 1, window: '1h' }) })
      await limiter.consume('ann')
      await limiter.reserve('ann', { maxWait: '1h' })
    }
    const counts = await read('headgate.decisions')
    expect(Object.keys(counts)).toHaveLength(251)
    expect(counts['other other admitted']).toBe(300)
    const waits = await read('headgate.wait')
    expect(Object.keys(waits)).toHaveLength(251)
    expect(waits.other).toBe(150)
    expect(Object.keys(await read('headgate.in_flight')).length).toBeLessThanOrEqual(251)
  })

  test('counts units that differ between policies under each of them', async () => {
    const read = observe()
    const policies = [
      fixedWindow({ name: 'requests', limit: 10, window: '1m' }),
      fixedWindow({ name: 'tokens', limit: 5000, window: '1m' }),
    ]
    const limiter = new RateLimiter({ name: 'ai', policies })
    await limiter.consume('ann', { cost: { requests: 1, tokens: 2000 } })
    await limiter.reserve('ann', { cost: { requests: 1, tokens: 4000 } })
    expect(await read('headgate.units')).toEqual({
      'ai requests admitted': 1,
      'ai tokens admitted': 2000,
      'ai requests refused': 1,
      'ai tokens refused': 4000,
    })
  })
})

describe('gauges', () => {
  test('show the calls in flight, also of those that began earlier', async () => {
    const limiter = new RateLimiter({ name: 'jobs', policies: concurrency({ limit: 3, lease: '1m' }) })
    const first = await limiter.reserve('ann')
    const read = observe()
    const second = await limiter.reserve('ann')
    expect(await read('headgate.in_flight')).toEqual({ jobs: 2 })
    await first.release()
    await first.settle(1)
    await second.cancel()
    await second.cancel()
    expect(await read('headgate.in_flight')).toEqual({ jobs: 0 })
    expect(limiter.load).toEqual({ inFlight: 0, waiting: 0 })
  })

  test('show the requests that a middleware delays, and how long', async () => {
    const read = observe()
    const app = express()
    const policies = tokenBucket({ limit: 1, window: '1s' })
    app.use(rateLimit({ name: 'slow', policies, delay: { max: '5s' } }))
    app.use((_, response) => void response.send('ok'))
    await request(app).get('/')
    const later = request(app).get('/').then()
    await expect.poll(() => read('headgate.waiting'), { interval: 5 }).toEqual({ slow: 1 })
    await later
    expect(await read('headgate.waiting')).toEqual({ slow: 0 })
    expect(await read('headgate.wait')).toEqual({ slow: 1 })
  })

  test('show the keys and the evictions of memory stores', async () => {
    const read = observe()
    const store = memoryStore({ maxKeys: 2, ...clock() })
    const limiter = new RateLimiter({ name: 'api', policies: '2/1h', store })
    for (const key of ['a', 'b', 'c', 'd']) await limiter.consume(key)
    expect(await read('headgate.keys')).toEqual({ memory: 2 })
    expect(await read('headgate.evictions')).toEqual({ memory: 2 })
    expect(await read('headgate.evictions')).toEqual({ memory: 2 })
  })

  test("show the state of a store's circuit breaker", async () => {
    const read = observe()
    const store = new FailingStore(new ManualClock())
    const limiter = new RateLimiter({ name: 'api', policies: '1/1h', store })
    await limiter.consume('ann')
    expect(await read('headgate.breaker.state')).toEqual({ other: 0 })
    store.mode = 'fails'
    for (let n = 0; n < 5; n++) await limiter.consume('ann')
    expect(await read('headgate.breaker.state')).toEqual({ other: 2 })
  })
})

describe('a pacer', () => {
  test('counts its calls, waits and what runs', async () => {
    const read = observe()
    const time = new ManualClock()
    const pacer = new Pacer('1/1s', { name: 'mail', clock: time.now, sleeper: time.sleeper, maxQueue: 1 })
    await pacer.acquire()
    const waits = pacer.throttle(() => new Promise<void>((resolve) => setTimeout(resolve, 50)))
    await expect(pacer.acquire()).rejects.toThrow()
    expect(await read('headgate.waiting')).toEqual({ mail: 1 })
    await time.advance(1_000_000)
    expect(await read('headgate.in_flight')).toEqual({ mail: 1 })
    await waits
    expect(await read('headgate.decisions')).toEqual({ 'mail admitted': 2, 'mail refused': 1 })
    expect(await read('headgate.wait')).toEqual({ mail: 2 })
  })
})

describe('starting and stopping', () => {
  const names = ['limiter:call', 'store:call', 'store:exchange', 'pacer:queued', 'pacer:admitted', 'pacer:refused']
  const listened = () => names.filter((name) => channel(`headgate:${name}`).hasSubscribers)

  test('listens while it is enabled, and only then', () => {
    const instrumentation = new HeadgateInstrumentation({ enabled: false })
    expect(listened()).toEqual([])
    instrumentation.enable()
    instrumentation.enable()
    expect(listened()).toEqual(names)
    instrumentation.disable()
    instrumentation.disable()
    expect(listened()).toEqual([])
  })

  test('moves to another provider, as NodeSDK asks it to', async () => {
    const [first, second] = [metered(), metered()]
    running = new HeadgateInstrumentation({ meterProvider: first.meterProvider })
    const limiter = new RateLimiter({ name: 'api', policies: '9/1h' })
    await limiter.consume('ann')
    running.setMeterProvider(second.meterProvider)
    await limiter.consume('ann')
    expect(await second.read('headgate.decisions')).toEqual({ 'api 1h admitted': 2 })
    expect(await first.read('headgate.decisions')).toEqual({})
  })

  test('has the version of the package', () => {
    const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
    expect(new HeadgateInstrumentation({ enabled: false }).instrumentationVersion).toBe(version)
  })

  test.each([
    [{ meterProvider: {} }, 'meterProvider must be a provider with getMeter()'],
    [{ tracerProvider: 5 }, 'tracerProvider must be a provider with getTracer()'],
    [{ enabled: 'yes' }, 'enabled must be true or false'],
    [{ meter: {} }, 'no option "meter"'],
    [{ meterProvider: null }, 'meterProvider must be a provider with getMeter(), got null'],
    [null, 'takes an object of options'],
  ])('refuses %j', (config, message) => {
    expect(() => new HeadgateInstrumentation(config as never)).toThrow(message)
    const good = new HeadgateInstrumentation({ enabled: false })
    expect(() => good.setConfig(config as never)).toThrow(message)
  })
})
