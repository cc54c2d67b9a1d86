import { describe, expect, test } from 'vitest'
import { gcra, type Policy, slidingLog, slidingWindow } from '../../src/index.ts'
import { brokenStore } from '../support/async-store.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* What happens while a request is under way: 10 ms to the store, 10 ms back. */

const booked = gcra({ limit: 10, window: '1s', burst: 1 })
const polled = slidingWindow({ limit: 1, window: '100ms' })
const both: [string, Policy][] = [
  ['a policy that books', booked],
  ['a policy that polls', polled],
]

function late(policy: Policy, options = {}) {
  const timeline = new Timeline()
  const store = new LateStore(timeline, 20)
  return { timeline, store, pacer: timeline.pacer(policy, { store, ...options }) }
}

describe.each(both)('%s', (_, policy) => {
  test('a timeout ends the wait for the store, and units that come later are given back', async () => {
    const { timeline, store, pacer } = late(policy)
    store.latency = 400
    timeline.write('A', pacer.acquire(1, { timeout: 100 }))
    timeline.write('B', pacer.tryAcquire(1, { timeout: 100 }))
    await timeline.pass(2000)
    store.latency = 20
    timeline.write('C', pacer.tryAcquire())
    expect(await timeline.read()).toBe('A!HEADGATE_TIMEOUT+100 B+100=false C+2020')
    expect([pacer.waiting, timeline.sleeps.size]).toEqual([0, 0])
  })

  test('a timeout of 0 means no time in the queue, and the request is still sent', async () => {
    const { timeline, pacer } = late(policy)
    timeline.write('A', pacer.tryAcquire())
    expect(await timeline.read()).toBe('A+20')
  })

  test('during a pause, the call waits in the queue once the store has responded', async () => {
    const { timeline, pacer } = late(policy)
    timeline.write('A', pacer.acquire(1, { timeout: 500 }))
    timeline.write('B', pacer.acquire())
    await timeline.pass(5)
    pacer.pause()
    await timeline.pass(100)
    expect(pacer.waiting).toBe(2)
    timeline.write('drained', pacer.drain())
    await timeline.pass(900)
    pacer.resume()
    expect(await timeline.read()).toBe('A!HEADGATE_TIMEOUT+500 B+1025 drained+1025')
  })

  test('close refuses the call at once, whatever the store decides', async () => {
    const { timeline, pacer } = late(policy)
    for (const name of 'AB') timeline.write(name, pacer.acquire())
    timeline.write('C', pacer.tryAcquire(1, { timeout: '1s' }))
    timeline.write(
      'D',
      pacer.throttle(() => 'run'),
    )
    await timeline.pass(5)
    pacer.close()
    timeline.write('drained', pacer.drain())
    const events = (await timeline.read()).split(' ').sort()
    expect(events).toEqual([...['A', 'B', 'C', 'D'].map((name) => `${name}!HEADGATE_CLOSED+5`), 'drained+20'])
    expect([pacer.waiting, timeline.sleeps.size]).toEqual([0, 0])
  })

  test('close refuses the call of a store that never responds', async () => {
    const { timeline, store, pacer } = late(policy, { storeTimeout: Infinity })
    store.silent = true
    for (const name of 'AB') timeline.write(name, pacer.acquire())
    await timeline.pass(50)
    pacer.close()
    await timeline.pass(50)
    expect(timeline.events).toEqual(['A!HEADGATE_CLOSED+50', 'B!HEADGATE_CLOSED+50'])
  })
})

test('after a new rate, units taken at the old rate are not given back', async () => {
  for (const leaves of [true, false]) {
    const { timeline, store, pacer } = late(slidingLog({ limit: 2, window: '60s' }), {
      storeTimeout: leaves ? 5000 : 100,
    })
    const controller = new AbortController()
    store.latency = leaves ? 20 : 1000
    timeline.write('A', pacer.acquire(1, { signal: controller.signal }))
    await timeline.pass(5)
    pacer.setRate(1)
    store.latency = 10
    timeline.write('B', pacer.acquire())
    await timeline.pass(leaves ? 7 : 400)
    if (leaves) controller.abort('gone')
    await timeline.pass(2000)
    timeline.write('C', pacer.acquire(1, { timeout: '1s' }))
    const events = await timeline.read()
    expect(events).toContain('C!HEADGATE_TIMEOUT')
  }
})

test('a late response gives back what it took, not what later calls took', async () => {
  // Several policies, so the store is polled: never more than 2 in a second.
  const timeline = new Timeline()
  const policies = [
    slidingLog({ name: 'hard', limit: 2, window: '1s' }),
    slidingLog({ name: 'long', limit: 99, window: '1h' }),
  ]
  const store = new LateStore(timeline, 20)
  const pacer = timeline.pacer({ policies } as never, { store, storeTimeout: 100, onStoreError: 'closed' })
  store.latency = 0
  const other = (name: string) => timeline.write(name, pacer.acquire())
  store.delay = 930
  other('A') // the store takes it at 0 and answers at 930, after the timeout
  await timeline.pass(900)
  store.delay = 0
  other('B')
  await timeline.pass(50)
  other('C')
  await timeline.pass(50)
  other('D')
  expect(await timeline.read()).toBe('A!HEADGATE_STORE_UNAVAILABLE+100 B+900 C+950 D+1900')
})

test('a key is not forgotten while a request for it is under way', async () => {
  const { timeline, pacer } = late(booked)
  const one = pacer.key('one')
  timeline.write('A', one.acquire())
  const reservation = one.reserve()
  timeline.write('drained', pacer.drain())
  await timeline.pass(5)
  expect(pacer.keys).toBe(1)
  await timeline.pass(15)
  expect((await reservation).wait).toBe(100)
  expect(pacer.keys).toBe(1)
})

test('a store that throws counts as one that fails', async () => {
  const timeline = new Timeline()
  const broken = () => {
    throw new Error('broken')
  }
  for (const [, policy] of both) {
    const store = brokenStore(broken)
    const pacer = timeline.pacer(policy, { store, concurrency: 1, onStoreError: 'closed' })
    for (const name of 'AB')
      timeline.write(
        name,
        pacer.throttle(() => 1),
      )
    await timeline.pass(10)
    expect([pacer.running, pacer.waiting]).toEqual([0, 0])
    await expect(pacer.reserve()).rejects.toMatchObject({
      code: 'HEADGATE_STORE_UNAVAILABLE',
      cause: new Error('broken'),
    })
  }
  expect(timeline.events.join(' ')).toBe(
    [0, 0, 10, 10].map((at, n) => `${'AB'[n % 2]}!HEADGATE_STORE_UNAVAILABLE+${at}`).join(' '),
  )
})
