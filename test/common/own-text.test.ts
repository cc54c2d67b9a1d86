/* What is stored of a caller's text: the text itself, and not the header field or the URL that the text is a part of. */
import { setImmediate } from 'node:timers/promises'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { afterEach, expect, test, vi } from 'vitest'
import { MemoryStore } from '../../adapters/compat/counter-store.ts'
import { countingOf } from '../../adapters/compat/fastify/counting.ts'
import type { Settings } from '../../adapters/compat/fastify/settings.ts'
import { ConnectionKey } from '../../adapters/sockets/connection-key.ts'
import { socketKey } from '../../adapters/sockets/socket-key.ts'
import { toPolicy } from '../../src/algorithms/shorthand.ts'
import { ownText } from '../../src/common/maps.ts'
import { AddressKeys } from '../../src/http/keys/address-key.ts'
import { logRefusals, lruStore, memoryStore, type PolicyLikes, RateLimiter, type Store } from '../../src/index.ts'
import { SpaceSaving } from '../../src/limiter/heaviest/space-saving.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { openLedger } from '../../src/stores/contract/open-ledger.ts'
import { KeyCache } from '../../src/stores/redis/local/key-cache.ts'
import { LeaseSize } from '../../src/stores/redis/local/lease-size.ts'
import { ShareStore } from '../../src/stores/shares/share-store.ts'
import { faultyStore, ManualClock } from '../../src/testing/index.ts'
import { asyncStore } from '../support/async-store.ts'
import { sampled } from '../support/depth.ts'

setFlagsFromString('--expose-gc')
const collect = runInNewContext('gc') as () => void

/** Cuts the text from a header field of 16 KB, as an extractor of keys does. */
function cut(text: string): string {
  const field = Buffer.from(`a=${'x'.repeat(16_000)}; ${text}; b=2`).toString()
  return field.split('; ')[1] as string
}

/** A different key for each n. */
function key(n: number): string {
  return cut(`session-number-${n}`)
}

function used(): number {
  for (let n = 0; n < 3; n++) collect()
  return process.memoryUsage().heapUsed
}

/** Bytes of heap for each text that `store` was called with. The first call may allocate what all texts share. */
async function bytesEach(store: (n: number) => unknown): Promise<number> {
  const count = 300
  for (let n = 0; n < 20; n++) await store(n)
  await setImmediate() // V8 frees what the calls of one turn of the event loop have used when the turn ends
  const before = used()
  for (let n = 20; n < 20 + count; n++) await store(n)
  await setImmediate()
  return (used() - before) / count
}

function limiterOf(store: Store, policies: PolicyLikes = '1/1h'): RateLimiter {
  return new RateLimiter({ policies, store, onStoreError: 'local', instances: 1 })
}

function consumes(store: Store, policies?: PolicyLikes): (n: number) => Promise<unknown> {
  const limiter = limiterOf(store, policies)
  return (n) => limiter.consume(key(n))
}

/** Settlements while the store fails, each of which gives units back when the store responds again. */
function settles(): (n: number) => Promise<unknown> {
  const policy = toPolicy('9/1h')
  const failure = { onStoreError: 'open', instances: 1, storeTimeout: undefined } as const
  const store = faultyStore(memoryStore())
  const ledger = openLedger(store, { name: 'api', policies: [policy], scopes: [policy.scope], failure })
  store.fail('error')
  return async (n) => ledger.run({ verb: 'settle', keys: [key(n)], costs: [-8], tickets: [[0, 0]] as never })
}

let stop: (() => void) | undefined
afterEach(() => stop?.())

const banned = { from: 0, until: 1, version: 0 }
const kept: unknown[] = []
const places: Record<string, () => (n: number) => unknown> = {
  'a memory store': () => consumes(memoryStore()),
  'a memory store with a log': () => consumes(memoryStore(), '1/1h sliding-log'),
  'a memory store, texts of two bytes a character': () => {
    const limiter = limiterOf(memoryStore())
    return (n) => limiter.consumeSync(cut(`ключ-номер-${n}`))
  },
  'several plans': () => {
    const limiter = limiterOf(memoryStore()).withPlan('5/1h')
    return (n) => limiter.consume(key(n))
  },
  'the texts of plans': () => {
    const limiter = limiterOf(memoryStore())
    return (n) => limiter.withPlan(cut(`${n + 1000}/3600000ms`))
  },
  'bans in a memory store': () => {
    const limiter = limiterOf(memoryStore())
    return (n) => limiter.ban(key(n), '1h')
  },
  'reasons of bans': () => {
    const limiter = limiterOf(memoryStore())
    return (n) => limiter.ban(`${n}`, '1h', { reason: cut(`It is reason ${n}.`) })
  },
  'an LRU store': () => consumes(lruStore()),
  'bans in an LRU store': () => {
    const limiter = limiterOf(lruStore())
    return (n) => limiter.ban(key(n), '1h')
  },
  'keys whose ban in an LRU store was removed': () => {
    const limiter = limiterOf(lruStore(), '9/1h')
    return async (n) => {
      await limiter.consume(key(n))
      await limiter.ban(key(n), '1h')
      await limiter.unban(key(n))
    }
  },
  shares: () => {
    const { now, sleeper } = new ManualClock()
    return consumes(new ShareStore(asyncStore(memoryStore()), 1000, 2, now, sleeper), '900/1h')
  },
  'calls while the store fails': () => {
    const store = faultyStore(memoryStore())
    store.fail('error')
    return consumes(store)
  },
  'refunds that wait for the store': settles,
  'a pacer': () => {
    const pacer = new Pacer('1/1h', { clock: new ManualClock().now })
    return (n) => pacer.key(key(n)).tryAcquire(1, { timeout: 0 })
  },
  'the addresses of byIp': () => {
    const keys = new AddressKeys((address) => address.slice(0, 14))
    return (n) => keys.of(cut(`2001:db8:${n}::1:2:3`))
  },
  'the log of refusals': () => {
    stop = logRefusals({ logger: () => {}, key: 'none', maxLines: 1e6 })
    const limiter = limiterOf(faultyStore(memoryStore()), '0/1h')
    return (n) => limiter.consume(key(n))
  },
  'the caches of a Redis store': () => {
    const cache = new KeyCache<typeof banned>(() => 0)
    return (n) => cache.set([`headgate:api:{${key(n)}}`], banned)
  },
  'the demand for leases': () => {
    const size = new LeaseSize('auto', 10)
    return (n) => size.wants(`headgate:api:{${key(n)}}`, 1, 0)
  },
  'a key for each socket': () => {
    return (n) => kept.push(socketKey({ key: key(n) }, ['default'], new ConnectionKey()))
  },
  'the memory store of express-rate-limit': () => {
    const store = new MemoryStore()
    return (n) => store.decrement(key(n))
  },
  '@fastify/rate-limit with longer windows': () => {
    const settings = { continueExceeding: true, cache: 5000 } as Settings
    const counting = countingOf(settings).then((countingIn) => countingIn(settings))
    return async (n) => (await counting).hit(key(n), 1000, 1)
  },
  'the heaviest keys': () => {
    const heaviest = new SpaceSaving(1000)
    return (n) => heaviest.add(key(n), false)
  },
}

// Each place collects the garbage of the whole process several times.
test.each(sampled(Object.entries(places), 15))('%s', async (_, place) => {
  vi.spyOn(process, 'emitWarning').mockReturnValue()
  expect(await bytesEach(place())).toBeLessThan(6000)
})

test.each([
  '',
  'ann',
  'user-1234567',
  'user-12345678',
  `${'é'.repeat(20)}`,
  'ключ пользователя',
  '\ud800'.repeat(13),
  '😀'.repeat(7),
])('the copy of %j is equal to the text', (text) => expect(ownText(text)).toBe(text))
