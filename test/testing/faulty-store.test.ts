import { beforeEach, describe, expect, test, vi } from 'vitest'
import { memoryStore, policy, type Store } from '../../src/index.ts'
import type { Ledger } from '../../src/store.ts'
import { type Fault, faultyStore, ManualClock, type ScheduledFault, testStore } from '../../src/testing/index.ts'
import { remoteStore } from '../support/async-store.ts'
import { quickTest } from '../support/whole-store.ts'

testStore({ name: 'faulty without a fault', test: quickTest, create: (clock) => faultyStore(memoryStore({ clock })) })

let clock: ManualClock
let start: number
let events: string[]
beforeEach(() => {
  clock = new ManualClock()
  start = clock.milliseconds
  events = []
})

function fixture(...faults: ScheduledFault[]) {
  const store = faultyStore(memoryStore({ clock: clock.now }), { clock, faults })
  const ledger = open(store)
  /** Makes a call and records its end, with the remaining units and the time: "A 4+0", or "A!HEADGATE_STORE+0". */
  const call = (name: string) => {
    Promise.resolve(ledger.run({ verb: 'consume', keys: ['k'] })).then(
      ({ remaining }) => events.push(`${name} ${remaining}+${clock.milliseconds - start}`),
      (error) => events.push(`${name}!${error.code}+${clock.milliseconds - start}`),
    )
  }
  return { store, ledger, call }
}

/** A ledger without the limiter above it, which would handle failures. */
function open(store: Store): Ledger {
  return store.open({ name: 'faulty', policies: [policy('5/1h fixed-window')], scopes: ['default'] })
}

test('it has the timeout of the store that it wraps', () => {
  const store = { synchronous: false, traits: { timeout: 400 }, open: () => undefined as never }
  expect([store, memoryStore()].map((each) => faultyStore(each).traits.timeout)).toEqual([400, undefined])
})

test('it keeps the timeout of the store, also for a call that hangs', async () => {
  const clock = new ManualClock()
  const store = faultyStore(
    remoteStore((terms) => memoryStore().open(terms), { timeout: 400 }),
    { clock },
  )
  store.fail('hang')
  const call = expect(open(store).run({ verb: 'consume', keys: ['k'] })).rejects.toMatchObject({
    code: 'HEADGATE_STORE_TIMEOUT',
  })
  clock.advance(400)
  await call
})

describe('what each fault does to call B, but not to A and C', () => {
  test.each<[Fault, string, number]>([
    [{ kind: 'error' }, 'A 4+0 B!HEADGATE_STORE+1000 C 3+5000', 0],
    [{ kind: 'hang' }, 'A 4+0 C 3+5000', 0],
    [{ kind: 'lost-reply' }, 'A 4+0 C 2+5000', 0],
    [{ kind: 'delay', by: '250ms' }, 'A 4+0 B 3+1250 C 2+5000', 1],
    [{ kind: 'partition' }, 'A 4+0 B 3+5000 C 2+5000', 1],
  ])('%j', async (fault, expected, sleeping) => {
    for (const switched of [false, true]) {
      events = []
      const before = clock.milliseconds
      start = before
      const { store, call } = fixture(...(switched ? [] : [{ from: '1s', to: 5000, ...fault }]))
      call('A')
      await clock.pass('1s')
      if (switched) store.fail(fault)
      call('B')
      await clock.pass(0)
      expect(clock.sleeping).toBe(switched && fault.kind === 'partition' ? 0 : sleeping)
      await clock.pass(4000)
      if (switched) store.heal()
      await clock.pass(0)
      call('C')
      await clock.pass('1h')
      expect(events.join(' ')).toBe(expected)
      expect(store.counts).toEqual({
        ...{ calls: 3, delay: 0, error: 0, hang: 0, 'lost-reply': 0, partition: 0 },
        [fault.kind]: 1,
      })
      expect(clock.sleeping).toBe(0)
    }
  })
})

describe('the schedule', () => {
  test('a fault lasts from `from` to before `to`; the first of several applies; without times a fault never ends', async () => {
    const { call } = fixture({ kind: 'error', from: 1000, to: 2000 }, { kind: 'delay', by: 10, to: 3000 })
    for (const name of 'ABCDEFG') {
      call(name)
      await clock.pass('500ms')
    }
    expect(events.join(' ')).toBe(
      'A 4+10 B 3+510 C!HEADGATE_STORE+1000 D!HEADGATE_STORE+1500 E 2+2010 F 1+2510 G 0+3000',
    )
  })

  test('fail replaces the schedule, the last fail applies, and heal returns to the schedule', async () => {
    const { store, call } = fixture({ kind: 'error' })
    store.fail('partition')
    call('A')
    await clock.pass(10)
    store.fail({ kind: 'delay', by: 7 })
    call('B')
    await clock.pass(10)
    store.heal()
    call('C')
    await clock.pass(10)
    expect(events.join(' ')).toBe('A 4+10 B 3+17 C!HEADGATE_STORE+20')
  })

  test('consecutive partitions act as one, and the calls that wait for their end arrive in order', async () => {
    const { store, call } = fixture({ kind: 'partition', to: 1000 }, { kind: 'partition', from: 1000, to: 1500 })
    for (const name of 'ABC') call(name)
    expect(clock.sleeping).toBe(1)
    await clock.pass(1200)
    store.fail('partition')
    call('D')
    await clock.pass(1000)
    expect(events).toEqual([])
    store.heal()
    await clock.pass(0)
    expect(events.join(' ')).toBe('A 4+2200 B 3+2200 C 2+2200 D 1+2200')
  })

  test('without a clock the store uses real time', async () => {
    const store = faultyStore(memoryStore(), { faults: [{ kind: 'delay', by: '40ms', to: '1h' }] })
    const ledger = open(store)
    const before = performance.now()
    await ledger.run({ verb: 'consume', keys: ['k'] })
    expect(performance.now() - before).toBeGreaterThanOrEqual(38) // timers count whole milliseconds, from before the call
  })
})

test('every verb meets the fault', async () => {
  const { store, ledger } = fixture()
  store.fail('error')
  const verbs = [
    ...(['consume', 'peek', 'charge', 'refund'] as const).map((verb) => () => ledger.run({ verb, keys: ['k'] })),
    () => ledger.run({ verb: 'reserve', keys: ['k'] }),
    () => ledger.run({ verb: 'reset', keys: ['k'] }),
  ]
  for (const verb of verbs) await expect(verb()).rejects.toMatchObject({ code: 'HEADGATE_STORE' })
  expect(store.counts.error).toBe(verbs.length)
})

test.each([
  [{ kind: 'explosion' }],
  [{ kind: 'delay' }],
  [{ kind: 'hang', by: 5 }],
  [{ kind: 'delay', by: -1 }],
  [{ kind: 'hang', from: 'soon' }],
  [{ kind: 'hang', from: 5, to: 5 }],
  [{ kind: 'hang', until: 5 }],
  ['hang'],
])('%j is rejected with HEADGATE_OPTION', (fault) => {
  expect(() => fixture(fault as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})

test('an invalid fault changes nothing', async () => {
  const { store, call } = fixture()
  store.fail('error')
  expect(() => store.fail('explosion' as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
  call('A')
  await clock.pass(1)
  expect(events.join(' ')).toBe('A!HEADGATE_STORE+0')
})

describe('sleepers of a manual clock', () => {
  const sleep = (name: string, milliseconds: number) =>
    clock.sleeper(milliseconds, () => events.push(`${name}+${clock.milliseconds - start}`))

  test('advance wakes each sleeper at its own time, in order, and no sooner', () => {
    sleep('C', 200)
    sleep('A', 100)
    sleep('B', 100)
    sleep('D', 0.5)
    clock.advance(100)
    expect(events.join(' ')).toBe('D+0.5 A+100 B+100')
    clock.advance(99)
    expect(events.length).toBe(3)
    clock.advance(1)
    expect(events.at(-1)).toBe('C+200')
  })

  test('a cancelled sleeper does not wake; one that sleeps again does', () => {
    sleep('A', 100)()
    clock.sleeper(50, () => sleep('B', 50))
    expect(clock.sleeping).toBe(1)
    clock.advance(100)
    expect(events.join(' ')).toBe('B+100')
    expect(clock.sleeping).toBe(0)
  })

  test('set wakes the sleepers that are due when it goes forwards, and none when it goes backwards', () => {
    sleep('A', 100)
    clock.set(start - 1000)
    expect(events).toEqual([])
    clock.set(start + 500)
    expect(events.join(' ')).toBe('A+500')
  })

  test('pass lets promises continue after each sleeper that wakes', async () => {
    const napping = async () => {
      for (let n = 0; n < 3; n++) {
        await new Promise<void>((resolve) => clock.sleeper(100, resolve))
        events.push(`${n}+${clock.milliseconds - start}`)
      }
    }
    const done = vi.fn()
    void napping().then(done)
    await clock.pass('1s')
    expect(events.join(' ')).toBe('0+100 1+200 2+300')
    expect(done).toHaveBeenCalledOnce()
    expect(clock.milliseconds - start).toBe(1000)
  })
})

test.each([undefined, null, {}, 'redis'])('rejects %j in place of a store', (store) => {
  expect(() => faultyStore(store as never)).toThrow(expect.objectContaining({ code: 'HEADGATE_OPTION' }))
})
