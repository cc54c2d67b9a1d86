import { expect, test } from 'vitest'
import {
  concurrency,
  gcra,
  memoryStore,
  type PolicyLike,
  slidingLog,
  slidingWindow,
  smoothBursty,
} from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { settle, Timeline } from './timeline.ts'

const policies = [gcra({ limit: 10, window: '1s', burst: 1 }), slidingWindow({ limit: 1, window: '50ms' })]

test('a hold that no call waits for has no timer, so the process may end', async () => {
  for (const policy of policies) {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    pacer.hold('1h')
    pacer.key('k').hold('1h')
    expect(timeline.sleeps.size).toBe(0)
    const controller = new AbortController()
    timeline.write('A', pacer.acquire(1, { signal: controller.signal }))
    expect(timeline.sleeps.size).toBe(1)
    await timeline.pass(6000)
    controller.abort('enough')
    await timeline.pass(0)
    expect(timeline.sleeps.size).toBe(0)
    await timeline.pass(3_594_000)
    timeline.write('B', pacer.acquire())
    expect(await timeline.read()).toBe('A!enough+6000 B+3600000')
  }
})

test('a call that would wait for longer than its timeout is refused at once', async () => {
  for (const policy of policies) {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    pacer.hold('30s')
    timeline.write('A', pacer.tryAcquire(1, { timeout: '29.999s' }))
    timeline.write('B', pacer.acquire(1, { timeout: '29.999s' }))
    timeline.write('C', pacer.tryAcquire(1, { timeout: '30s' }))
    expect(await timeline.read()).toMatch(
      /^A\+0=false B!HEADGATE_TIMEOUT\+0 C\+30000$|^B!HEADGATE_TIMEOUT\+0 A\+0=false C\+30000$/,
    )
  }
})

test('a longer hold extends a shorter one, and a shorter one changes nothing', async () => {
  for (const policy of policies) {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    pacer.hold('1s')
    for (const name of 'AB') timeline.write(name, pacer.acquire())
    await timeline.pass(500)
    pacer.hold('1s')
    pacer.hold('100ms')
    await timeline.pass(500)
    timeline.write('C', pacer.acquire())
    expect(await timeline.read()).toBe('A+1500 B+1600 C+1700')
    expect(timeline.sleeps.size).toBe(0)
  }
})

test('when the timer is late, a new call does not overtake one that waits', async () => {
  for (const policy of policies) {
    const timeline = new Timeline()
    const pacer = timeline.pacer(policy)
    pacer.hold('1s')
    timeline.write('A', pacer.acquire())
    timeline.clock.advance(1005)
    timeline.write('B', pacer.acquire())
    expect(await timeline.read()).toMatch(/^A\+1005 B\+1(100|105)$/)
  }
})

test('keys that were held are forgotten when other keys come', async () => {
  const timeline = new Timeline()
  const pacer = timeline.pacer(policies[0]!)
  for (let n = 0; n < 100; n++) pacer.key(`host-${n}`).hold('1s')
  expect(pacer.keys).toBe(100)
  await timeline.pass(1000)
  for (let n = 0; n < 100; n++) await pacer.key(`other-${n}`).acquire()
  await timeline.pass(1000)
  expect(pacer.keys).toBe(0)
})

test.each<[string, PolicyLike]>([
  ['a bucket', gcra({ limit: 10, window: '1s', burst: 1 })],
  ['Guava', smoothBursty({ rate: 100 })],
  ['a log', slidingLog({ limit: 3, window: '300ms' })],
  ['a policy that cannot book', slidingWindow({ limit: 100, window: '1s' })],
  ['calls in flight', concurrency({ limit: 2, lease: '5s' })],
])('a call that comes in the last microseconds of a hold starts: %s', async (_, policy) => {
  for (let before = -5; before <= 30; before++) {
    let now = 1_000_000_000
    const clock = () => ++now // each reading is later than the one before
    const timeline = new Timeline()
    const pacer = new Pacer(policy, { clock, sleeper: timeline.sleeper, store: memoryStore({ clock }) })
    const until = now + 100_000
    pacer.hold(100)
    now = until - before
    timeline.write(
      'A',
      pacer.throttle(async () => {}),
    )
    await settle()
    for (const sleep of timeline.sleeps) {
      timeline.sleeps.delete(sleep)
      now += 1000
      sleep.wake()
      await settle()
    }
    expect([before, timeline.events.length, pacer.waiting]).toEqual([before, 1, 0])
  }
})
