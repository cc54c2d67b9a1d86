/* What is specific to a cluster: several workers, a worker that dies, a primary that does not respond. */
import cluster from 'node:cluster'
import { channel } from 'node:diagnostics_channel'
import { afterEach, expect, test, vi } from 'vitest'
import { fixedWindow, memoryStore, type Policy, RateLimiter, slidingLog, tokenBucket } from '../../src/index.ts'
import { type ClusterStore, type ClusterStoreOptions, clusterStore } from '../../src/stores/cluster/index.ts'
import { WorkerStore } from '../../src/stores/cluster/worker.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { BareLimiter } from '../support/bare-limiter.ts'
import { type ProxyWorker, startWorker } from '../support/cluster-proxy.ts'
import { failure } from '../support/failure.ts'

const workers: ProxyWorker[] = []
const stores: ClusterStore[] = []

afterEach(async () => {
  for (const store of stores.splice(0)) store.close()
  await Promise.all(workers.splice(0).map((worker) => worker.stop()))
})

async function started(serialization?: 'json' | 'advanced'): Promise<ProxyWorker> {
  const worker = await startWorker(serialization)
  workers.push(worker)
  return worker
}

function primary(options: ClusterStoreOptions): ClusterStore {
  const store = clusterStore(options)
  stores.push(store)
  return store
}

const hundred = fixedWindow({ limit: 100, window: '1h' })

test('the primary and its workers share one limit', async () => {
  const own = new RateLimiter({ name: 'api', policies: hundred, store: primary({ name: 'one' }) })
  const fleet = (await Promise.all([started(), started()])).map((worker) => {
    return new RateLimiter({ name: 'api', policies: hundred, store: worker.store('one') })
  })
  expect(own.consumeSync('k').remaining).toBe(99)
  expect((await fleet[0]?.consume('k'))?.remaining).toBe(98)
  expect((await fleet[1]?.consume('k', { cost: 8 }))?.remaining).toBe(90)
  await fleet[0]?.reset('k')
  expect(own.consumeSync('k').remaining).toBe(99)
})

test('two stores of one name in a worker, as Next.js makes them, get their own answers', async () => {
  primary({ name: 'twice' })
  const worker = await started()
  const one = new RateLimiter({ name: 'one', policies: '5/1h sliding-log', store: worker.store('twice', 10_000) })
  const two = new RateLimiter({ name: 'two', policies: hundred, store: worker.store('twice', 9000) })
  const limits: unknown[] = []
  let admitted = 0
  for (let call = 0; call < 20; call++) {
    const [a, b] = await Promise.all([one.consume('k'), two.consume('k')])
    if (a.allowed) admitted++
    limits.push(a.limit, b.limit)
  }
  expect([admitted, ...new Set(limits)]).toEqual([5, 5, 100])
})

test('a worker that dies leaves only the units it took, and a new worker continues', async () => {
  primary({ name: 'dies' })
  const first = await started()
  const limiter = new RateLimiter({ name: 'api', policies: hundred, store: first.store('dies') })
  await limiter.consume('k')
  void limiter.consume('k').catch(() => {})
  await first.stop()
  const again = new RateLimiter({ name: 'api', policies: hundred, store: (await started()).store('dies') })
  expect([98, 97]).toContain((await again.consume('k')).remaining)
})

test.each(['json', 'advanced'] as const)(
  'decisions and reservations are the same after %s serialization',
  async (serialization) => {
    const clock = new ManualClock()
    primary({ name: serialization, clock: clock.now })
    const policies: Policy[] = [
      tokenBucket({ name: 'a', limit: 5, window: '1s' }),
      slidingLog({ name: 'b', limit: 9, window: '1m', scope: 'user' }),
      fixedWindow({ name: 'c', limit: 1, window: '1m', shadow: true }),
    ]
    const worker = await started(serialization)
    const stores = [worker.store(serialization), memoryStore({ clock: clock.now })]
    const [remote, local] = stores.map((store) => new RateLimiter({ name: 'api', policies, store })) as [
      RateLimiter,
      RateLimiter,
    ]
    const key = { default: 'k\ud800\0', user: 'u' }
    for (const limiter of [remote, local]) await limiter.consume(key)
    expect(await remote.consume(key, { cost: 6 })).toStrictEqual(await local.consume(key, { cost: 6 }))
    expect((await remote.consume(key, { cost: 6 })).retryAfter).toBe(Infinity)
    const dated = stores.map((store) => {
      const ledger = store.open({ name: 'ledger', policies, scopes: ['default', 'user'] })
      return ledger.run({ verb: 'consume', keys: ['k', 'u'], costs: 6, details: { at: true, nextAfter: true } })
    })
    expect(await dated[0]).toStrictEqual(await dated[1])
    const booked = await Promise.all([remote, local].map((limiter) => limiter.reserve(key, { cost: 2 })))
    expect(booked[0]?.decision).toStrictEqual(booked[1]?.decision)
    for (const reservation of booked) await reservation.settle(1)
    expect(await remote.peek(key)).toStrictEqual(await local.peek(key))
  },
)

test.each(['json', 'advanced'] as const)(
  'a worker shows and lists the keys of the primary, by %s',
  async (serialization) => {
    const name = `shown-${serialization}`
    const own = new RateLimiter({
      name: 'api',
      policies: ['100/1h', slidingLog({ limit: 9, window: '1m' })],
      store: primary({ name }),
    })
    const worker = new RateLimiter({
      name: 'api',
      policies: own.policies,
      store: (await started(serialization)).store(name),
    })
    for (let n = 0; n < 450; n++) own.consumeSync(`key ${n}`, { cost: n < 50 ? 9 : 1 })
    const [remote, local] = [await worker.inspect('key 7'), await own.inspect('key 7')]
    expect(remote.policies.map(({ used }) => used)).toEqual(local.policies.map(({ used }) => used))
    const keys: (string | undefined)[] = []
    for await (const { key } of worker.list({ refused: true })) keys.push(key)
    expect(new Set(keys)).toEqual(new Set(Array.from({ length: 50 }, (_, n) => `key ${n}`)))
    await worker.ban('ann', Infinity, { reason: 'why' })
    const banned = await worker.inspect('ann')
    expect(banned).toMatchObject({
      words: 'Banned by hand until the ban is lifted: "why".',
      ban: { until: Infinity },
    })
    const found: (string | undefined)[] = []
    for await (const { key, inspection } of worker.list({ refused: true })) if (inspection.ban) found.push(key)
    expect(found).toEqual(['ann'])
  },
)

test.each(['json', 'advanced'] as const)(
  'what a command leaves out stays left out on its way to the primary, by %s',
  async (serialization) => {
    const name = `left-out-${serialization}`
    const policies = [
      slidingLog({ name: 'a', limit: 9, window: '1m' }),
      slidingLog({ name: 'b', limit: 1, window: '1m', scope: 'user', shadow: true }),
    ]
    const own = new RateLimiter({ name: 'api', policies, store: primary({ name }) })
    const worker = new RateLimiter({ name: 'api', policies, store: (await started(serialization)).store(name) })
    const [ann, bob] = [
      { default: 'k', user: 'ann' },
      { default: 'k', user: 'bob' },
    ]
    await worker.ban({ user: 'ann' }, '1h')
    expect(await Promise.all([ann, bob].map(async (key) => (await own.peek(key)).allowed))).toEqual([false, true])
    await worker.unban({ user: 'ann' })
    const reservation = await worker.reserve(ann, { cost: 3 }) // more than the shadow has, so it gives no ticket
    await reservation.cancel()
    expect((await own.peek(ann)).policies.map(({ used }) => used)).toEqual([0, 0])
  },
)

test('a call to a primary without the store rejects at the timeout, and the error says what to do', async () => {
  const store = (await started()).store('nobody', 100)
  const limiter = new BareLimiter({ name: 'api', policies: [hundred], store })
  const calls = [limiter.consume('k'), limiter.peek('k'), limiter.reset('k'), limiter.reserve('k')]
  for (const { code } of await Promise.all(calls.map(failure))) expect(code).toBe('HEADGATE_STORE_TIMEOUT')
  await expect(limiter.consume('k')).rejects.toThrow('Call clusterStore() with the same name in the primary too')
})

test.each(['consume', 'reserve'] as const)(
  'the units of a %s are given back if the decision comes late',
  async (verb) => {
    primary({ name: `late-${verb}` })
    const store = (await started()).store(`late-${verb}`, 100)
    const limiter = new BareLimiter({ name: 'api', policies: [hundred], store })
    await limiter.consume('k')
    cluster.prependOnceListener('message', () => {
      for (const end = Date.now() + 300; Date.now() < end; );
    })
    expect((await failure(limiter[verb]('k', { cost: 10 }))).code).toBe('HEADGATE_STORE_TIMEOUT')
    await expect.poll(async () => (await limiter.peek('k')).remaining).toBe(99)
  },
)

test.each([
  [null, null],
  ['x', { headgate: 'channel' }],
  [
    { headgate: 'channel', requests: [null], terms: [] },
    { headgate: 'channel', responses: [null] },
  ],
  [
    { headgate: 'channel', requests: [[999, 0, {}]] },
    { headgate: 'channel', responses: [[99]] },
  ],
  [
    { headgate: 'channel', requests: [[999, 0]], terms: ['{}'] },
    { headgate: 'channel', responses: {} },
  ],
])('messages of other code on the same channel are ignored: %j, %j', async (toPrimary, toWorker) => {
  primary({ name: 'channel' })
  const proxy = await started()
  const limiter = new RateLimiter({ name: 'api', policies: hundred, store: proxy.store('channel') })
  await limiter.consume('k')
  cluster.emit('message', proxy.worker, toPrimary, undefined)
  proxy.worker.send(toWorker as never)
  expect((await limiter.consume('k')).remaining).toBe(98)
})

test('calls of one tick of the event loop travel in one message', async () => {
  primary({ name: 'turns' })
  const worker = await started()
  const limiter = new RateLimiter({ name: 'api', policies: hundred, store: worker.store('turns') })
  await limiter.consume('k')
  const sizes: number[] = []
  const count = (_: unknown, { requests }: { requests?: unknown[] }) => requests && sizes.push(requests.length)
  cluster.on('message', count)
  await Promise.all(Array.from({ length: 100 }, (_, n) => limiter.consume(`${n % 7}`)))
  cluster.removeListener('message', count)
  expect(sizes.reduce((sum, size) => sum + size, 0)).toBe(100)
  expect(sizes.length).toBeLessThan(50)
})

/** The exchanges of a worker with the primary, as it publishes them. */
async function exchangesOf({ worker }: ProxyWorker): Promise<unknown[]> {
  const told: unknown[] = []
  worker.on('message', ({ exchange }: { exchange?: unknown }) => exchange && told.push(exchange))
  worker.send({ tellExchanges: true })
  await expect.poll(() => told.shift()).toBe('told')
  return told
}

test('a message of a worker and its response are one exchange, with the calls that it decided', async () => {
  primary({ name: 'told' })
  const worker = await started()
  const exchanges = await exchangesOf(worker)
  const limiter = new RateLimiter({ name: 'api', policies: hundred, store: worker.store('told') })
  await limiter.consume('k')
  await expect.poll(() => exchanges).toEqual([{ kind: 'cluster', calls: 1, duration: expect.any(Number) }])
  await Promise.all(Array.from({ length: 20 }, (_, n) => limiter.consume(`${n}`)))
  const calls = () => (exchanges as { calls: number }[]).reduce((sum, each) => sum + each.calls, 0)
  await expect.poll(calls).toBe(21)
  expect(exchanges.length).toBeLessThan(21)
})

test('a message without a response is an exchange that failed at its deadline', async () => {
  const worker = await started()
  const exchanges = await exchangesOf(worker)
  const limiter = new BareLimiter({ name: 'api', policies: [hundred], store: worker.store('silent', 50) })
  await failure(limiter.consume('k'))
  await expect
    .poll(() => exchanges)
    .toEqual([{ kind: 'cluster', calls: 1, duration: expect.any(Number), error: 'HEADGATE_STORE_TIMEOUT' }])
  expect((exchanges[0] as { duration: number }).duration).toBeGreaterThanOrEqual(45)
})

test('a connection to the primary that is lost is an exchange that failed', async () => {
  const exchanges: unknown[] = []
  const note = (event: unknown) => void exchanges.push(event)
  channel('headgate:store:exchange').subscribe(note)
  const store = new WorkerStore('lost', 5000)
  const [send, connected] = [process.send, process.connected]
  try {
    Object.assign(process, { send: () => true, connected: true })
    const call = failure(new BareLimiter({ name: 'api', policies: [hundred], store }).consume('k'))
    await new Promise(setImmediate)
    store.close()
    expect((await call).code).toBe('HEADGATE_STORE')
    expect(exchanges).toEqual([
      {
        kind: 'cluster',
        calls: 1,
        duration: expect.any(Number),
        error: expect.objectContaining({ code: 'HEADGATE_STORE' }),
      },
    ])
  } finally {
    Object.assign(process, { send, connected })
    channel('headgate:store:exchange').unsubscribe(note)
  }
})

test('without a connection to a primary, a call rejects at once', async () => {
  const store = new WorkerStore('alone', 5000)
  const send = process.send
  try {
    Object.assign(process, { send: undefined })
    const { code, after } = await failure(new BareLimiter({ name: 'api', policies: [hundred], store }).consume('k'))
    expect(code).toBe('HEADGATE_STORE')
    expect(after).toBeLessThan(1000)
  } finally {
    Object.assign(process, { send })
    store.close()
  }
})

test('after close, a call rejects at once and is not sent, nor is a call of the same tick', async () => {
  const store = new WorkerStore('closed', 5000)
  const limiter = new BareLimiter({ name: 'api', policies: [hundred], store })
  const [send, connected] = [process.send, process.connected]
  const sent = vi.fn()
  try {
    Object.assign(process, { send: sent, connected: true })
    const before = failure(limiter.consume('k'))
    store.close()
    for (const { code, after } of [await before, await failure(limiter.consume('k'))]) {
      expect(code).toBe('HEADGATE_STORE')
      expect(after).toBeLessThan(1000)
    }
    expect(sent).not.toHaveBeenCalled()
  } finally {
    Object.assign(process, { send, connected })
  }
})

test('in a worker, clusterStore ignores the options of the memory store but still checks their names', () => {
  const clock = vi.fn(() => 0)
  Object.assign(cluster, { isPrimary: false })
  try {
    clusterStore({ name: 'worker', maxKeys: 10, onFull: 'forget', clock }).close()
    expect(clock).not.toHaveBeenCalled()
    expect(() => clusterStore({ maxKey: 1 } as never)).toThrow(/no option "maxKey"/)
  } finally {
    Object.assign(cluster, { isPrimary: true })
  }
})

test('invalid options throw at construction', () => {
  primary({ name: 'twice' })
  expect(() => clusterStore({ name: 'twice' })).toThrow(/is open/)
  expect(() => clusterStore({ timeout: 0 })).toThrow(/timeout/)
  expect(() => clusterStore({ maxKeys: 0 })).toThrow(/maxKeys/)
  expect(() => clusterStore({ maxKey: 1 } as never)).toThrow(/no option "maxKey"/)
})
