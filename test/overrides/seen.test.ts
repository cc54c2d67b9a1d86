/* Where a process shows its overrides: in decisions, in events and in metrics. */
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { setTimeout as sleep } from 'node:timers/promises'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { fixedWindow, type MaybePromise, memoryStore, RateLimiter, type Store, wallClock } from '../../src/index.ts'
import type { Documents } from '../../src/store.ts'
import { memoryDocuments } from '../../src/stores/contract/index.ts'
import { HeadgateInstrumentation } from '../../src/telemetry/index.ts'
import { metered } from '../support/telemetry.ts'

const start = Date.UTC(2026, 10, 24, 12)
const hour = 3_600_000

const ends: (() => unknown)[] = []
beforeEach(() => void vi.useFakeTimers({ now: start, toFake: ['Date'] }))
afterEach(() => {
  for (const end of ends.splice(0)) end()
  vi.useRealTimers()
})

/** Waits until a check passes. Unlike `vi.waitFor`, leaves the date as the test has set it. */
async function eventually(check: () => unknown): Promise<void> {
  for (let tries = 0; ; tries++) {
    try {
      return void check()
    } catch (error) {
      if (tries === 250) throw error
      await sleep(20)
    }
  }
}

/** The limiter of a process, with the documents that it shares with other processes. */
function processWith(documents?: Documents, name = 'api'): RateLimiter {
  const memory = memoryStore({ clock: wallClock })
  const open: Store['open'] = (terms, joins) => memory.open(terms, joins)
  const store: Store = documents ? { synchronous: true, traits: { fallible: false }, documents, open } : memory
  const limiter = new RateLimiter({ name, store, policies: fixedWindow({ name: 'month', limit: 10, window: '30d' }) })
  ends.push(() => limiter.close())
  return limiter
}

/** The events of all processes since this call. */
function eventsFrom(): () => unknown[] {
  const seen: unknown[] = []
  const listener = (event: unknown) => void seen.push(event)
  subscribe('headgate:override', listener)
  ends.push(() => unsubscribe('headgate:override', listener))
  return () => seen.splice(0)
}

function observe(): (name: string) => Promise<Record<string, number>> {
  const { meterProvider, read } = metered()
  const instrumentation = new HeadgateInstrumentation({ meterProvider })
  ends.push(() => instrumentation.disable())
  return read
}

test('a decision under an override still says that it began a ban', async () => {
  const policies = fixedWindow({ name: 'month', limit: 1, window: '30d' })
  const limiter = new RateLimiter({ policies, penalty: { on: 'spent', ban: '1h' } })
  const { id } = await limiter.override('ann', { add: 1 })
  expect(await limiter.consume('ann')).not.toHaveProperty('banned')
  expect(await limiter.consume('ann')).toMatchObject({ allowed: true, banned: hour, override: [{ id }] })
})

test('one event for each override that begins, is removed or ends', async () => {
  const events = eventsFrom()
  const limiter = processWith()
  const { id } = await limiter.override('*', { scale: 0.5, reason: 'incident 311' })
  const added = { limiter: 'api', change: 'added', id, reason: 'incident 311' }
  expect(events()).toEqual([added])
  const short = await limiter.override('ann', { add: 5, until: '1h' })
  const ofShort = { limiter: 'api', id: short.id, reason: undefined }
  expect(events()).toEqual([{ ...ofShort, change: 'added' }])
  await limiter.overrides()
  await limiter.consume('ann')
  expect(events()).toEqual([])
  vi.setSystemTime(start + hour)
  await limiter.consume('ann')
  await limiter.consume('ann')
  expect(events()).toEqual([{ ...ofShort, change: 'expired' }])
  await limiter.removeOverride(id)
  await limiter.removeOverride(id)
  expect(events()).toEqual([{ ...added, change: 'removed' }])
})

test('every process has the events, also without a call, and one that starts has those of what it finds', async () => {
  const documents = memoryDocuments()
  const [one, two] = [processWith(documents), processWith(documents)]
  const events = eventsFrom()
  const both = async (change: string) => {
    const event = expect.objectContaining({ change })
    const seen: unknown[] = []
    await eventually(() => {
      seen.push(...events())
      expect(seen).toEqual([event, event])
    })
  }
  const { id } = await one.override('ann', { add: 5 })
  await both('added')
  await two.removeOverride(id)
  await both('removed')
  await one.override('ann', { add: 5, until: '1h' })
  await both('added')
  vi.setSystemTime(start + hour)
  await both('expired')
  await one.override('bob', { add: 5 })
  await both('added')
  processWith(documents)
  const later: unknown[] = []
  await eventually(() => {
    later.push(...events())
    expect(later).toMatchObject([{ change: 'added', id: '3' }])
  })
})

test('a document that arrives late, after a newer one, ends no override', async () => {
  const documents = memoryDocuments()
  let holds: { readonly verb: string; begun(): void } | undefined
  let answer = () => {}
  /** Holds up the answer to the first call of the verb that `holding` names. */
  const heldUp = async <Value>(verb: string, value: MaybePromise<Value>): Promise<Value> => {
    if (holds?.verb !== verb) return value
    const held = new Promise<void>((resolve) => {
      answer = resolve
    })
    holds.begun()
    holds = undefined
    await held
    return value
  }
  const holding = (verb: string) =>
    new Promise<void>((begun) => {
      holds = { verb, begun }
    })
  const limiter = processWith({
    versions: (names) => documents.versions(names),
    read: (name) => heldUp('read', documents.read(name)),
    swap: (...args) => heldUp('swap', documents.swap(...args)),
  })
  const events = eventsFrom()
  const changes = () => events().map((event) => Reflect.get(Object(event), 'change'))
  await limiter.override('ann', { limit: 20 })

  let held = holding('read')
  const listed = limiter.overrides()
  await held
  await limiter.override('bob', { limit: 20 })
  answer()
  await listed
  expect(changes()).toEqual(['added', 'added'])

  held = holding('swap')
  const first = limiter.override('eve', { limit: 20 })
  await held
  const second = limiter.override('zoe', { limit: 20 })
  await sleep(50)
  answer()
  await Promise.all([first, second])
  expect(changes()).toEqual(['added', 'added'])
  for (const key of ['ann', 'bob', 'eve', 'zoe']) expect((await limiter.peek(key)).limit).toBe(20)
})

test('an id that a store has given again, after it lost its documents, is another override', async () => {
  let documents = memoryDocuments()
  const restarting: Documents = {
    versions: (names) => documents.versions(names),
    read: (name) => documents.read(name),
    swap: (...args) => documents.swap(...args),
  }
  const limiter = processWith(restarting)
  const { id } = await limiter.override('ann', { add: 5, reason: 'old' })
  const events = eventsFrom()
  documents = memoryDocuments()
  vi.setSystemTime(start + 1)
  expect((await processWith(documents, 'api').override('ann', { add: 5, reason: 'new' })).id).toBe(id)
  await limiter.overrides()
  const ofFirst = events().filter((event) => Reflect.get(Object(event), 'reason') === 'old')
  expect(ofFirst).toEqual([{ limiter: 'api', change: 'removed', id, reason: 'old' }])
})

test('metrics count the decisions under overrides, and never name an override or a key', async () => {
  const read = observe()
  const limiter = processWith()
  await limiter.consume('ann')
  expect(await read('headgate.overridden')).toEqual({})
  expect(await read('headgate.overrides')).toEqual({})
  await limiter.override('ann', { limit: 2, reason: 'incident 311' })
  await limiter.override({ prefix: 'trial-' }, { scale: 0.5, until: '1h' })
  for (const key of ['ann', 'ann', 'bob']) await limiter.consume(key)
  await limiter.reserve('trial-1')
  expect(await read('headgate.overridden')).toEqual({ 'api month admitted': 2, 'api month refused': 1 })
  expect(await read('headgate.decisions')).toEqual({ 'api month admitted': 4, 'api month refused': 1 })
  expect(await read('headgate.overrides')).toEqual({ api: 2 })
  vi.setSystemTime(start + hour)
  expect(await read('headgate.overrides')).toEqual({ api: 1 })
})

test('a metric says for how long the overrides could not be read', async () => {
  const documents = memoryDocuments()
  let fails = false
  const versions: Documents['versions'] = (names) => {
    if (fails) throw new Error('down')
    return documents.versions(names)
  }
  const read = observe()
  const limiter = processWith({ ...documents, versions })
  await limiter.override('ann', { limit: 2 })
  await limiter.consume('ann')
  expect(await read('headgate.overrides.unread')).toEqual({ api: 0 })
  fails = true
  await eventually(() => expect(limiter.health().overridesUnreadSince).toBe(start))
  vi.setSystemTime(start + 90_000)
  expect(await read('headgate.overrides.unread')).toEqual({ api: 90 })
  expect(await read('headgate.overrides')).toEqual({ api: 1 })
  fails = false
  await eventually(() => expect(limiter.health()).not.toHaveProperty('overridesUnreadSince'))
  expect(await read('headgate.overrides.unread')).toEqual({ api: 0 })
})
