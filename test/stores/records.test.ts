import { expect, test } from 'vitest'
import { fixedWindow, memoryStore, RateLimiter, slidingLog, slidingWindow, tokenBucket } from '../../src/index.ts'
import { compareAndSetStore, type LedgerTerms } from '../../src/store.ts'
import { recordKey, recordKeyStart } from '../../src/stores/records/record-key.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { BareLimiter } from '../support/bare-limiter.ts'
import { failure } from '../support/failure.ts'
import { MapDatabase } from '../support/map-store.ts'
import { ReferenceStore } from '../support/reference-store.ts'

const hourly = (limit: number, name = 'p', scope = 'default') => fixedWindow({ name, scope, limit, window: '1h' })

test('calls of one tick on one key share one read and one swap, also while earlier calls are under way', async () => {
  const database = new MapDatabase()
  const limiter = new RateLimiter({ name: 'default', policies: hourly(150), store: database.store() })
  const first = Array.from({ length: 100 }, () => limiter.consume('k'))
  await new Promise((resolve) => setImmediate(resolve))
  const then = Array.from({ length: 100 }, () => limiter.consume('k'))
  const decisions = await Promise.all([...first, ...then])
  expect(decisions.map(({ remaining }) => remaining)).toEqual(
    Array.from({ length: 200 }, (_, n) => Math.max(0, 149 - n)),
  )
  expect([database.reads, database.swaps]).toEqual([2, 2])
})

test('a call that changes nothing writes nothing', async () => {
  const database = new MapDatabase()
  const limiter = new RateLimiter({ name: 'default', policies: hourly(2), store: database.store() })
  await limiter.peek('k')
  await limiter.consume('k', { cost: 3 })
  await limiter.refund('k')
  await limiter.reset('k')
  expect(database.swaps).toBe(0)
  await limiter.consume('k', { cost: 2 })
  await Promise.all([limiter.consume('k'), limiter.peek('k')])
  expect(database.swaps).toBe(1)
  await limiter.reset('k')
  expect((await limiter.peek('k')).remaining).toBe(2)
})

test('a call that loses every swap to others gives up after its retries', async () => {
  const database = new MapDatabase()
  const limiter = new BareLimiter({ name: 'l', policies: [hourly(2)], store: database.store({ retries: 3 }) })
  database.before = (key) => database.texts.set(key, { text: '[1]', revision: Math.random(), ttl: 1 })
  const error = await limiter.consume('k').catch((reason) => reason)
  expect(error).toMatchObject({ code: 'HEADGATE_STORE', message: expect.stringContaining('each of 4 attempts') })
  expect([database.reads, database.swaps]).toEqual([4, 4])
  database.before = () => {}
  expect((await limiter.consume('k')).remaining).toBe(1)
})

const twoScopes = [hourly(40, 'a', 'address'), hourly(100, 'u', 'user')]

test('several processes on several keys admit no more than the limits, and a refused call takes nothing', async () => {
  const database = new MapDatabase()
  const options = { retries: 10_000, timeout: '20s' }
  const fleet = [1, 2, 3].map(
    () => new RateLimiter({ name: 'default', policies: twoScopes, store: database.store(options) }),
  )
  const calls = fleet.flatMap((limiter) =>
    Array.from({ length: 100 }, (_, n) => limiter.consume({ address: `${n % 5}`, user: `${n % 2}` })),
  )
  const decisions = await Promise.all(calls)
  const admitted = decisions.filter(({ allowed }) => allowed).length
  const left = await Promise.all(['0', '1'].map((user) => fleet[0]?.peek({ address: 'other', user })))
  expect(left.reduce((sum, each) => sum + 100 - (each?.policies[1]?.remaining ?? 0), 0)).toBe(admitted)
  expect(admitted).toBeLessThanOrEqual(200)
  expect(admitted).toBeGreaterThan(150)
})

/**
 * Makes another limiter write first on the scope `user` once, and lets it change `address` just before. Returns what is
 * left of `address` then.
 */
async function overtaken(meanwhile: (other: RateLimiter) => unknown) {
  const database = new MapDatabase()
  const policies = [hourly(40, 'a', 'address'), hourly(20, 'u', 'user')]
  const [limiter, other] = [1, 2].map(
    () => new RateLimiter({ name: 'default', policies, store: database.store() }),
  ) as [RateLimiter, RateLimiter]
  await limiter.consume({ address: 'a', user: 'u' }, { cost: 5 })
  const before = database.texts.get('headgate:default:address:a')?.text
  database.before = async (key) => {
    if (!key.includes(':user:')) return
    database.before = () => {}
    await meanwhile(other)
    await other.consume({ address: 'b', user: 'u' }, { cost: 13 })
  }
  const decision = await limiter.consume({ address: 'a', user: 'u' }, { cost: 3 })
  const { remaining } = (await limiter.peek({ address: 'a', user: 'v' })).policies[0] ?? {}
  return {
    allowed: decision.allowed,
    remaining,
    untouched: database.texts.get('headgate:default:address:a')?.text === before,
  }
}

test('a key that was already saved is put back if the swap of another key fails', async () => {
  expect(await overtaken(() => {})).toEqual({ allowed: false, remaining: 35, untouched: true })
})

test('units that others took from that key in between stay taken', async () => {
  const meanwhile = (other: RateLimiter) => other.consume({ address: 'a', user: 'w' }, { cost: 7 })
  expect(await overtaken(meanwhile)).toEqual({ allowed: false, remaining: 28, untouched: false })
})

test('while the store hangs, calls reject at the timeout; afterwards the key works again', async () => {
  const database = new MapDatabase()
  const limiter = new BareLimiter({ name: 'l', policies: [hourly(5)], store: database.store({ timeout: 50 }) })
  let go = () => {}
  database.before = () => new Promise<void>((resolve) => (go = resolve))
  const hung = failure(limiter.consume('k'))
  await new Promise((resolve) => setTimeout(resolve, 20))
  const queued = failure(limiter.consume('k'))
  for (const { code, after } of await Promise.all([hung, queued])) {
    expect(code).toBe('HEADGATE_STORE_TIMEOUT')
    expect(after).toBeGreaterThanOrEqual(40) // a busy machine may begin to measure late
    expect(after).toBeLessThan(250)
  }
  database.before = () => {}
  const patient = new BareLimiter({ name: 'l', policies: [hourly(5)], store: database.store() })
  expect((await patient.consume('k')).remaining).toBe(4)
  go() // the late swap finds another revision
  await new Promise((resolve) => setImmediate(resolve))
  expect((await patient.peek('k')).remaining).toBe(4)
})

test.each<[what: string, options: object, message: RegExp]>([
  ['read fails', { read: () => Promise.reject(new Error('no route')) }, /The store failed: no route/],
  [
    'swap throws',
    {
      swap: () => {
        throw new Error('disk full')
      },
    },
    /Etcd failed: disk full/,
  ],
  ['read returns something else', { read: () => ({ value: 1 }) }, /read must return/],
  ['swap returns no boolean', { read: () => undefined, swap: () => undefined }, /swap must return true or false/],
])('%s: the call rejects with HEADGATE_STORE and the reason', async (_, options, reason) => {
  const plain = { read: () => undefined, swap: () => true, ...('swap' in options ? { name: 'Etcd' } : {}) }
  const limiter = new BareLimiter({
    name: 'l',
    policies: [hourly(5)],
    store: compareAndSetStore({ ...plain, ...options }),
  })
  const error = await limiter.consume('k').catch((reason) => reason)
  expect(error).toMatchObject({ code: 'HEADGATE_STORE', message: expect.stringMatching(reason) })
})

test('another text under a key is the error of that key alone, until it is reset', async () => {
  const texts = new Map([[recordKey('headgate', recordKeyStart('headgate', 'l', 'default'), 'k'), '{}']])
  const store = compareAndSetStore({
    read: (key) => (texts.has(key) ? { text: texts.get(key) as string, version: texts.get(key) } : undefined),
    swap: (key, text) => Boolean(texts.set(key, text)),
  })
  const limiter = new RateLimiter({ name: 'l', policies: [hourly(5)], store, onStoreError: 'throw' })
  const broken = { code: 'HEADGATE_STORE_RECORD', message: expect.stringMatching(/no record of this version/) }
  for (let n = 0; n < 10; n++) await expect(limiter.consume('k')).rejects.toMatchObject(broken)
  expect((await limiter.consume('other')).remaining).toBe(4)
  expect([limiter.health().state, limiter.health().errors]).toEqual(['closed', 0])
  await limiter.reset('k')
  expect((await limiter.consume('k')).remaining).toBe(4)
})

test.each([
  ['milliseconds', Date.now()],
  ['NaN', NaN],
  ['a fraction', 1.5],
  ['before the epoch', -1],
  ['null', null],
])('a time of the store that is no whole microseconds is an error, and nothing is written: %s', async (_, now) => {
  const database = new MapDatabase()
  const read = async () => ({ text: '[1]', version: undefined as never, now: now as number })
  const limiter = new RateLimiter({ name: 'default', policies: hourly(5), store: database.store({ read }) })
  await expect(limiter.consume('k')).rejects.toMatchObject({ code: 'HEADGATE_CLOCK' })
  expect([database.texts.size, limiter.health().errors]).toEqual([0, 0])
})

test("two deploys with different policies keep each other's states until the key has its full quota again", async () => {
  const database = new MapDatabase()
  const clock = new ManualClock()
  const store = () => database.store({ clock: clock.now })
  const old = new RateLimiter({
    name: 'default',
    policies: [hourly(5, 'hourly'), tokenBucket({ name: 'burst', limit: 9, window: '9s' })],
    store: store(),
  })
  const now = new RateLimiter({
    name: 'default',
    policies: [hourly(9, 'daily'), tokenBucket({ name: 'burst', limit: 90, window: '9s' })],
    store: store(),
  })
  const left = async (limiter: RateLimiter) => (await limiter.peek('k')).policies.map(({ remaining }) => remaining)
  await old.consume('k', { cost: 3 })
  expect(await left(now)).toEqual([9, 87]) // three are used under the policy of the same name
  await now.consume('k', { cost: 2 })
  expect(await left(now)).toEqual([7, 85])
  expect(await left(old)).toEqual([2, 4])
  clock.advance('1h')
  await now.consume('k')
  expect(database.texts.get('headgate:default:default:k')?.text).not.toContain('hourly')
})

test('policies that change from call to call: the decisions of the reference store, under each rule', async () => {
  const variants = [
    slidingLog({ name: 'p', limit: 10, window: '10s' }),
    slidingLog({ name: 'p', limit: 25, window: '10s' }),
    slidingWindow({ name: 'p', limit: 12, window: '10s' }),
    tokenBucket({ name: 'p', limit: 4, window: '5s' }),
  ]
  for (const onChange of ['keep', 'scale'] as const) {
    const clock = new ManualClock()
    const store = new MapDatabase().store({ clock: clock.now })
    const terms = variants.map(
      (policy): LedgerTerms => ({ name: 'l', policies: [policy], scopes: ['default'], onChange }),
    )
    const first = new ReferenceStore(clock.now).open(terms[0] as LedgerTerms)
    for (let n = 0; n < 200; n++) {
      const term = terms[(n * 7 + (n >> 3)) % 4] as LedgerTerms
      const verb = n % 11 === 0 ? 'refund' : n % 5 === 0 ? 'peek' : 'consume'
      expect(await store.open(term).run({ verb, keys: ['k'], costs: 1 + (n % 3) })).toEqual(
        first.joined(term).run({ verb, keys: ['k'], costs: 1 + (n % 3) }),
      )
      clock.advance((n * 613) % 2500)
    }
  }
})

test('swap gets the time that a text is needed, and the time that read returns is used', async () => {
  const database = new MapDatabase()
  const now = 1_000_000_000_000_000
  const store = compareAndSetStore<number>({
    read: async (key) => ({ ...((await database.read(key)) ?? { text: '[1]', version: undefined as never }), now }),
    swap: (...swap) => database.swap(...swap),
    ttlMargin: 500,
  })
  const policies = [tokenBucket({ limit: 10, window: '10s' })]
  const ledger = store.open({ name: 'default', policies, scopes: ['default'] })
  const decision = await ledger.run({ verb: 'consume', keys: ['k'], costs: 3, details: { at: true } })
  expect([decision.at, decision.resetAfter]).toEqual([now / 1000, 3000])
  expect(database.texts.get('headgate:default:default:k')?.ttl).toBe(3500)
})

test.each(['n {}*', 'n'.repeat(128)])('keys are short ASCII without spaces, for a limiter named %s', async (name) => {
  const database = new MapDatabase()
  const scopes = ['s p a c e', 's'.repeat(128)] as const
  const policies = scopes.map((scope, n) => hourly(1, `p${n}`, scope))
  const limiter = new RateLimiter({ name, policies, store: database.store() })
  const ids = [
    '',
    ' ',
    '\r\nset x',
    'k'.repeat(127),
    `${'k'.repeat(126)}K`,
    'k'.repeat(500),
    '\ud800',
    '\udc00',
    'é',
    '*',
  ]
  for (const id of ids) await limiter.consume({ [scopes[0]]: id, [scopes[1]]: id })
  const keys = [...database.texts.keys()]
  expect(new Set(keys).size).toBe(2 * ids.length)
  for (const key of keys) expect(key).toMatch(/^headgate:[!-~]{1,240}$/)
})

test('a reservation over several keys is settled exactly', async () => {
  const clock = new ManualClock()
  const stores = [memoryStore({ clock: clock.now }), new MapDatabase().store({ clock: clock.now })]
  const results = stores.map(async (store) => {
    const limiter = new RateLimiter({ name: 'default', policies: twoScopes, store })
    const reservation = await limiter.reserve({ address: 'a', user: 'u' }, { cost: 8 })
    await limiter.consume({ address: 'a', user: 'u' })
    await reservation.settle(5)
    return (await limiter.refund({ address: 'a', user: 'u' })).policies
  })
  expect(await results[1]).toEqual(await results[0])
})

test.each<[options: object, fix: RegExp]>([
  [{ read: 1 }, /read must be a function, got 1/],
  [{ read: () => undefined }, /swap must be a function, got undefined/],
  [{ retries: 0 }, /retries/],
  [{ prefix: 'a b' }, /prefix/],
  [{ timeout: 0 }, /timeout/],
  [{ ttlMargin: -1 }, /ttlMargin/],
  [{ reed: 1 }, /no option "reed"/],
])('an invalid option throws at construction: %j', (options, fix) => {
  const plain = 'read' in options ? {} : { read: () => undefined, swap: () => true }
  expect(() => compareAndSetStore({ ...plain, ...options } as never)).toThrow(fix)
})
