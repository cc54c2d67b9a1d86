/* What is specific to Memcached: lifetimes, and a server that fails. */
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { setImmediate as turn } from 'node:timers/promises'
import { MemcacheClient } from 'memcache-client'
import { afterAll, expect, test } from 'vitest'
import { fixedWindow, RateLimiter, slidingWindow, tokenBucket } from '../../src/index.ts'
import { type MemcachedClient, type MemcachedStoreOptions, memcachedStore } from '../../src/stores/memcached.ts'
import { BareLimiter } from '../support/bare-limiter.ts'
import { failure } from '../support/failure.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { until } from '../support/ports.ts'
import { startProxy } from '../support/proxy.ts'
import { race } from '../support/race.ts'
import { useServer } from '../support/use-server.ts'

const server = await useServer(startMemcached())
const closes: (() => unknown)[] = []

afterAll(() => {
  for (const close of closes) close()
})

function clientOf(port = server.port): MemcacheClient {
  const client = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true })
  closes.push(() => client.shutdown())
  return client
}

const hundred = fixedWindow({ limit: 100, window: '1h' })
let names = 0

function limiterOf(options: Partial<MemcachedStoreOptions> = {}, policies = [hundred]): BareLimiter {
  const store = memcachedStore({ client: clientOf(), timeout: '5s', ...options })
  return new BareLimiter({ name: `own-${names++}`, policies, store })
}

test.concurrent('a text lives until the key has its full quota again: a second, 60 days, 38 years', async () => {
  const client = clientOf()
  for (const [window, cost, exists] of [
    ['50ms', 1, false],
    ['60d', 1, true],
    ['366d', 3800, true],
  ] as const) {
    const limiter = limiterOf({ client, ttlMargin: 0 }, [tokenBucket({ limit: 100, window, burst: 4000 })])
    await limiter.consume('k', { cost })
    await new Promise((resolve) => setTimeout(resolve, exists ? 0 : 3100))
    expect((await client.gets(`headgate:${limiter.name}:default:k`)) !== undefined).toBe(exists)
  }
})

test.concurrent('no text expires too early, whenever in a second it was saved', async () => {
  const limiter = limiterOf({ ttlMargin: 0 }, [fixedWindow({ limit: 1, window: '1s', align: 'first-request' })])
  const sleep = (milliseconds: number) => new Promise((resolve) => setTimeout(resolve, milliseconds))
  const left = Array.from({ length: 20 }, async (_, n) => {
    await sleep(50 * n)
    await limiter.consume(`${n}`)
    await sleep(500)
    return (await limiter.peek(`${n}`)).remaining
  })
  expect(await Promise.all(left)).toEqual(left.map(() => 0))
})

test('calls of one turn on many keys are one gets; each key is decided from its own value', async () => {
  const client = clientOf()
  const reads: (string | string[])[] = []
  const counted: MemcachedClient = {
    gets(key) {
      reads.push(key)
      return client.gets<string>(key)
    },
    cas: (key, text, options) => client.cas(key, text, options),
    add: (key, text, options) => client.add(key, text, options),
    xretrieve(command, keys) {
      reads.push(keys)
      return client.xretrieve(command, keys)
    },
  }
  const limiter = limiterOf({ client: counted })
  const costs = Array.from({ length: 50 }, (_, n) => n + 1)
  for (const round of [1, 2]) {
    const all = await Promise.all(costs.map((cost) => limiter.consume(`${cost}`, { cost })))
    expect(all.map(({ remaining }) => remaining)).toEqual(costs.map((cost) => 100 - round * cost))
  }
  expect(reads.map((keys) => keys.length)).toEqual([50, 50])
  await limiter.consume('alone')
  expect(reads.at(-1)).toMatch(/:alone$/)
})

test('the writes of one turn are held back until its end', async () => {
  const events: string[] = []
  const socket = { cork: () => events.push('cork'), uncork: () => events.push('uncork') }
  async function wrote(key: string) {
    events.push(key.replace(/.*:/, ''))
    await turn()
  }
  const client: MemcachedClient = {
    gets: async () => undefined,
    add: wrote,
    cas: wrote,
    xsend: async (use) => use(socket),
  }
  const limiter = limiterOf({ client })
  for (const ids of [['a', 'b', 'c'], ['d']]) {
    await Promise.all(ids.map((id) => limiter.consume(id)))
    expect(events.splice(0)).toEqual(['cork', ...ids, 'uncork'])
  }
})

test('a socket that comes later, because the client had to connect first, is not held back', async () => {
  let connect = () => {}
  const connected = new Promise<void>((resolve) => {
    connect = resolve
  })
  let held = 0
  const socket = { cork: () => held++, uncork: () => held-- }
  const client: MemcachedClient = {
    gets: async () => undefined,
    async add(key) {
      if (key.endsWith('second')) connect() // another turn holds the socket back
      await turn()
    },
    cas: async () => undefined,
    async xsend(use) {
      await connected
      use(socket)
    },
  }
  const limiter = limiterOf({ client })
  await limiter.consume('first')
  await limiter.consume('second')
  expect(held).toBe(0)
})

test.each([
  ['throws', () => assert.fail('closed')],
  ['returns no promise', () => undefined],
])('a client whose xsend %s decides each call', async (_, xsend) => {
  const real = clientOf()
  const client: MemcachedClient = {
    gets: (key) => real.gets<string>(key),
    cas: (key, text, options) => real.cas(key, text, options),
    add: (key, text, options) => real.add(key, text, options),
    xsend: xsend as never,
  }
  const limiter = limiterOf({ client })
  const ids = ['a', 'b']
  for (const left of [99, 98]) {
    const decisions = await Promise.all(ids.map((id) => limiter.consume(id)))
    expect(decisions.map(({ remaining }) => remaining)).toEqual([left, left])
  }
})

test('a value that the client cannot decode fails the calls of its key alone', async () => {
  const client = clientOf()
  const limiter = limiterOf({ client })
  const ids = ['before', 'broken', 'after']
  await Promise.all(ids.map((id) => limiter.consume(id)))
  const isJson = 2 // the flag of memcache-client
  await client.xsend(`set headgate:${limiter.name}:default:broken ${isJson} 0 1\r\n{\r\n`)
  const results = await Promise.allSettled(ids.map((id) => limiter.consume(id)))
  expect(results).toMatchObject([
    { value: { remaining: 98 } },
    { reason: { code: 'HEADGATE_STORE', cause: expect.any(SyntaxError) } },
    { value: { remaining: 98 } },
  ])
})

test('two processes compete for one key: no call is lost', async () => {
  const fleet = [1, 2].map(() => {
    return new RateLimiter({
      name: 'race',
      policies: hundred,
      store: memcachedStore({ client: clientOf(), timeout: '5s' }),
    })
  })
  for (let round = 0; round < 20; round++) await Promise.all(fleet.map((limiter) => limiter.consume('k')))
  expect((await fleet[0]?.peek('k'))?.remaining).toBe(60)
})

test.each([
  ['of the default timeout', undefined, 30],
  ['of a long timeout and 3 retries', '20s', 3],
] as const)(
  'processes %s compete for keys of several scopes: they use what they admit',
  async (_, timeout, retries) => {
    const policies = ['a', 'b', 'c'].map((scope) => slidingWindow({ name: scope, scope, limit: 1000, window: '366d' }))
    const name = `own-${names++}`
    const fleet = Array.from({ length: 8 }, () => {
      const store = memcachedStore({ client: clientOf(), retries, ...(timeout && { timeout }) })
      return new BareLimiter({ name, policies, store })
    })
    const { admitted, failed, used } = await race({ fleet, policies, calls: 24, seed: retries })
    await expect.poll(used, { timeout: 10_000 }).toEqual(admitted)
    if (timeout !== undefined) expect(failed).toBeGreaterThan(0) // with 30 retries, a fast machine decides all calls in time
  },
)

test('an invalid client throws, and a client that returns no cas unique makes calls reject', async () => {
  expect(() => memcachedStore({ client: {} as never })).toThrow(/must be a client with gets\(\), cas\(\) and add\(\)/)
  const client = { gets: async () => ({ value: '[1]' }), cas: async () => [], add: async () => [] }
  expect((await failure(limiterOf({ client }).consume('k'))).code).toBe('HEADGATE_STORE')
})

/** Stops every thread of a process, and waits until all have stopped. */
async function freeze(pid: number): Promise<void> {
  process.kill(pid, 'SIGSTOP')
  const stopped = (task: string) => / T [^)]*$/.test(readFileSync(`/proc/${pid}/task/${task}/stat`, 'utf8'))
  await until('memcached', async () => readdirSync(`/proc/${pid}/task`).every(stopped))
}

test('while the server hangs, calls reject at the timeout; afterwards calls work again', async () => {
  const own = await startMemcached()
  closes.push(() => own.stop())
  const limiter = limiterOf({ client: clientOf(own.port), timeout: 100 })
  await limiter.consume('k')
  await freeze(own.pid)
  const calls = [limiter.consume('k'), limiter.peek('k'), limiter.refund('k'), limiter.reset('k'), limiter.reserve('l')]
  for (const { code, after } of await Promise.all(calls.map(failure))) {
    expect(code).toBe('HEADGATE_STORE_TIMEOUT')
    expect(after).toBeLessThan(300)
  }
  process.kill(own.pid, 'SIGCONT')
  await expect.poll(() => limiter.peek('k').catch(() => undefined)).toMatchObject({ remaining: 99 })
})

test('while the server is down, calls reject within the timeout; a restarted server is empty', async () => {
  const own = await startMemcached()
  closes.push(() => own.stop())
  const limiter = limiterOf({ client: clientOf(own.port), timeout: 150 })
  await limiter.consume('k', { cost: 10 })
  await own.stop()
  for (let n = 0; n < 3; n++) {
    const { code, after } = await failure(limiter.consume('k'))
    expect(code).toMatch(/^HEADGATE_STORE(_TIMEOUT)?$/)
    expect(after).toBeLessThan(400)
  }
  await own.start()
  await expect
    .poll(() => limiter.peek('k').catch(() => undefined), { timeout: 10_000 })
    .toMatchObject({ remaining: 100 })
})

test.each([
  [0, 'read', 99],
  [1, 'save', 98],
])('a call is not repeated if a reply was lost: after %i replies, that of its %s', async (spared, _, remaining) => {
  const proxy = await startProxy(server.port)
  closes.push(() => proxy.close())
  const limiter = limiterOf({ client: clientOf(proxy.port), timeout: '1s' })
  await limiter.consume('k')
  Object.assign(proxy, { fault: 'lose replies', spared })
  expect((await failure(limiter.consume('k'))).code).toBe('HEADGATE_STORE')
  proxy.fault = undefined
  await expect.poll(() => limiter.peek('k').catch(() => undefined)).toMatchObject({ remaining })
})
