/* A store in parts (shards) that fail by themselves: each has one circuit breaker, which learns from all calls that need the part. */
import { describe, expect, test, vi } from 'vitest'
import { fixedWindow, HeadgateError, memoryStore } from '../../src/index.ts'
import { openLedger } from '../../src/stores/contract/open-ledger.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { remoteStore } from '../support/async-store.ts'
import { outcome, settle } from '../support/failing-store.ts'

const scopes = ['ip', 'user']

/**
 * A store with a part for the first letter of each key. A call that needs a part that is down rejects.
 * @param names true if the error names the parts that failed
 */
function parted(names = true) {
  const clock = new ManualClock()
  const exact = memoryStore({ clock: clock.now })
  let first: ReturnType<typeof exact.open> | undefined
  const down = new Set<string>()
  const moved = new Map<string, string>()
  const shardOf = (key: string) => moved.get(key.charAt(0)) ?? key.charAt(0)
  const asked: string[] = []
  const store = remoteStore(
    (terms) => {
      const ledger = exact.open(terms, first)
      first ??= ledger
      return {
        async run(command) {
          const keys = (command.keys ?? []) as readonly string[]
          asked.push(`${command.verb} ${keys}`)
          const shards = [...new Set(keys.map(shardOf))].filter((shard) => down.has(shard))
          if (shards.length === 0) return await ledger.run(command)
          throw names ? new HeadgateError('HEADGATE_STORE', 'down', { shards, uncounted: true }) : new Error('down')
        },
      }
    },
    { shardOf },
  )
  const policies = scopes.map((scope) => fixedWindow({ name: scope, scope, limit: 100, window: '1h' }))
  const failure = { onStoreError: 'local', instances: 1, storeTimeout: Infinity, clock: clock.now } as const
  const ledger = openLedger(store, { name: 'api', policies, scopes, failure })
  const call = async (ip: string, user: string) => {
    const result = await outcome(ledger.run({ verb: 'consume', keys: [ip, user] }))
    await settle()
    return result.split(' ')[0]
  }
  /** What was asked since the last call. */
  const requests = () => asked.splice(0)
  /** Another process that shares the store. */
  const exactly = exact.open({ name: 'api', policies, scopes }, first)
  return { clock, down, moved, requests, ledger, call, exactly }
}

test('five calls open the breaker of a part, whichever other parts they need', async () => {
  const { down, requests, call, ledger } = parted()
  down.add('b')
  for (const other of ['a1', 'c1', 'd1', 'e1', 'f1']) expect(await call('b1', other)).toBe('fallback')
  expect(requests()).toHaveLength(5)
  for (const other of ['g1', 'a1', 'b2', 'c1']) expect(await call(other, 'b3')).toBe('fallback')
  expect(requests()).toEqual([])
  expect(await call('a1', 'c1')).toBe('store')
  expect(ledger.health?.()).toMatchObject({ state: 'open', errors: 5 })
})

test('a part that works learns nothing from the failure of another part', async () => {
  const { down, call, requests } = parted()
  down.add('b')
  for (let n = 0; n < 9; n++) await call(`a${n}`, 'b1')
  requests()
  expect(await call('a1', 'a2')).toBe('store')
  expect(await call('c1', 'a2')).toBe('store')
})

test('if an error names no part, it counts for all parts of the call, and each part is tried by itself', async () => {
  const { clock, down, call, requests } = parted(false)
  down.add('b')
  for (let n = 0; n < 5; n++) await call(`a${n}`, `b${n}`)
  requests()
  expect(await call('a9', 'c9')).toBe('fallback')
  expect(requests()).toEqual([])
  clock.advance(500)
  expect(await call('a9', 'b9')).toBe('fallback')
  expect(requests().slice(0, 2)).toEqual(['charge a9', 'charge b9'])
  expect(await call('a9', 'c9')).toBe('store')
  expect(await call('a9', 'b9')).toBe('fallback')
})

describe('what a call spends while one of its parts fails', () => {
  test('each key owes to its own part: a call on the healthy key alone is charged first', async () => {
    const { down, call, requests, ledger } = parted()
    down.add('b')
    for (let n = 0; n < 7; n++) await call('a1', 'b1')
    requests()
    expect(ledger.health?.().owing).toBe(2)
    expect(await call('a1', 'c1')).toBe('store')
    expect(requests()).toEqual(['charge a1', 'consume a1,c1'])
    expect(ledger.health?.().owing).toBe(1)
    const peek = await outcome(ledger.run({ verb: 'peek', keys: ['a1', 'c2'] }))
    expect(peek).toBe('store 92') // 7 that were spent without the store, and 1 by it
  })

  test('a part that is back gets its charges, while another one stays away', async () => {
    const { clock, down, call, requests, ledger } = parted()
    down.add('b').add('c')
    for (let n = 0; n < 5; n++) await call('b1', 'a1')
    for (let n = 0; n < 5; n++) await call('c1', 'a2')
    down.delete('b')
    clock.advance(500)
    await call('b1', 'd1')
    await settle()
    requests()
    expect(await outcome(ledger.run({ verb: 'peek', keys: ['b1', 'd2'] }))).toBe('store 94')
    expect(ledger.health?.()).toMatchObject({ state: 'open', owing: 1 })
    expect(await call('c1', 'a2')).toBe('fallback')
    down.delete('c')
    clock.advance(500)
    await call('c1', 'a2')
    await settle()
    await call('c1', 'a2')
    expect(ledger.health?.()).toMatchObject({ state: 'closed', owing: 0 })
  })

  test('a clear drops the resets and refunds that wait', async () => {
    const { clock, down, call, ledger, exactly } = parted()
    const fail = async () => {
      down.add('b')
      for (let n = 0; n < 5; n++) await call('b1', 'b2')
    }
    await fail()
    down.delete('b')
    clock.advance(500)
    for (let n = 0; n < 2; n++) await call('b1', 'b2')
    await settle()
    expect(ledger.health?.()).toMatchObject({ state: 'closed', owing: 0 })
    await fail()
    await ledger.run({ verb: 'refund', keys: ['b1', 'b2'], costs: 3 })
    await ledger.run({ verb: 'reset', keys: ['b3', 'b4'] })
    down.delete('b')
    await ledger.run({ verb: 'clear', keys: [] })
    for (const keys of [
      ['b1', 'b2'],
      ['b3', 'b4'],
    ])
      await exactly.run({ verb: 'consume', keys, costs: 7 })
    clock.advance(500)
    for (let n = 0; n < 2; n++) await call('b5', 'b6')
    await settle()
    for (const keys of [
      ['b1', 'b2'],
      ['b3', 'b4'],
    ]) {
      expect(await outcome(ledger.run({ verb: 'peek', keys }))).toBe('store 93')
    }
  })
})

test('a refund that waits for a part reaches the part to which its key has moved meanwhile', async () => {
  const { down, moved, call, ledger } = parted()
  const keys = ['b1', 'b2']
  const { tickets } = await ledger.run({ verb: 'reserve', keys, costs: 5 })
  down.add('b')
  for (let n = 0; n < 5; n++) await call('b3', 'b4')
  await ledger.run({ verb: 'settle', keys, costs: [-4, -4], tickets })
  moved.set('b', 'c') // as after a failover: no response comes from the part that has failed
  await vi.waitFor(async () => expect(await outcome(ledger.run({ verb: 'peek', keys }))).toBe('store 99'), {
    timeout: 3000,
  })
})

test('what a key spends while its part fails is charged to the part to which the key has moved', async () => {
  const { down, moved, call, ledger, exactly } = parted()
  down.add('b')
  for (let n = 0; n < 20; n++) await call('b1', 'b2')
  moved.set('b', 'c')
  await vi.waitFor(
    async () => expect(await outcome(exactly.run({ verb: 'peek', keys: ['b1', 'b2'] }))).toBe('store 80'),
    {
      timeout: 3000,
    },
  )
  expect(ledger.health?.().owing).toBe(0)
})
