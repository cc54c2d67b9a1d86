import { channel } from 'node:diagnostics_channel'
import { beforeEach, expect, test } from 'vitest'
import { Breaker, breakerOf } from '../../src/failure/breaker.ts'
import type { StoreStateEvent } from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { FailingStore } from '../support/failing-store.ts'

let clock: ManualClock
let breaker: Breaker
beforeEach(() => {
  clock = new ManualClock()
  breaker = new Breaker(new FailingStore(clock), clock.now)
})

function fail(times: number): void {
  for (let n = 0; n < times; n++) breaker.failed(new Error(`${n}`))
}

test('five failures in a row open the breaker, fewer do not', () => {
  fail(4)
  breaker.succeeded()
  fail(4)
  expect([breaker.state, breaker.closed]).toEqual(['closed', true])
  fail(1)
  expect([breaker.state, breaker.closed]).toEqual(['open', false])
})

test('failures of requests that were under way together count once', () => {
  const before = Breaker.counted
  for (let n = 0; n < 4; n++) {
    const { counted } = Breaker
    for (let call = 0; call < 100; call++) breaker.failed(new Error(`${n}`), 'api', counted)
  }
  expect([breaker.state, Breaker.counted - before]).toEqual(['closed', 4])
  fail(1)
  expect(breaker.state).toBe('open')
})

test('a store chooses when its breaker opens, how long it stays so, and how often it probes', () => {
  const store = Object.assign(new FailingStore(clock), {
    traits: { breaker: { failures: 2, openFor: 100, probeEvery: 1000 } },
  })
  breaker = new Breaker(store, clock.now)
  fail(1)
  expect(breaker.state).toBe('closed')
  fail(1)
  expect([breaker.state, breaker.retryAfter]).toEqual(['open', 100])
  clock.advance(100)
  expect(breaker.startProbe()).toBe(true)
  breaker.endProbe(false, new Error('still away'))
  clock.advance(999)
  expect([breaker.retryAfter, breaker.startProbe()]).toEqual([1, false])
  clock.advance(1)
  expect(breaker.startProbe()).toBe(true)
})

test('there is one probe at a time, and at least 500 ms are between two', () => {
  expect(breaker.startProbe()).toBe(false)
  fail(5)
  clock.advance(499)
  expect([breaker.startProbe(), breaker.retryAfter]).toEqual([false, 1])
  clock.advance(1)
  expect([breaker.startProbe(), breaker.state, breaker.closed]).toEqual([true, 'half-open', false])
  clock.advance('1h')
  expect(breaker.startProbe()).toBe(false)
  breaker.endProbe(false, new Error('still away'))
  expect([breaker.state, breaker.retryAfter, breaker.startProbe()]).toEqual(['open', 500, false])
  expect(breaker.lastError).toMatchObject({ message: 'still away' })
  clock.advance(500)
  expect(breaker.startProbe()).toBe(true)
  breaker.endProbe(true)
  expect([breaker.state, breaker.since - clock.now()]).toEqual(['closed', 0])
})

test('an open breaker ignores the results and failures of calls that were under way', () => {
  fail(5)
  const { since } = breaker
  clock.advance(100)
  breaker.succeeded()
  fail(10)
  expect([breaker.state, breaker.since]).toEqual(['open', since])
  clock.advance(400)
  breaker.startProbe()
  fail(10)
  breaker.endProbe(true)
  fail(4)
  expect(breaker.state).toBe('closed')
})

test('a listener for the next response is called once, for a call or a probe', () => {
  let calls = 0
  fail(5)
  breaker.onNextResponse(() => calls++)
  breaker.succeeded()
  for (const succeeded of [false, true]) {
    clock.advance(500)
    breaker.startProbe()
    breaker.endProbe(succeeded)
    expect(calls).toBe(succeeded ? 1 : 0)
  }
  fail(1)
  expect(breaker.doubtful).toBe(true)
  breaker.onNextResponse(() => calls++)
  breaker.succeeded()
  breaker.succeeded()
  expect([calls, breaker.doubtful]).toEqual([2, false])
})

test('limiters on one store share its breaker', () => {
  const store = new FailingStore(clock)
  expect(breakerOf(store)).toBe(breakerOf(store))
  expect(breakerOf(store)).not.toBe(breakerOf(new FailingStore(clock)))
})

test('every change of state is published on the channel headgate:store-state', () => {
  const changes: string[] = []
  const listener = (event: unknown) => {
    const { from, to, error } = event as StoreStateEvent
    changes.push(`${from} -> ${to}: ${(error as Error).message}`)
  }
  channel('headgate:store-state').subscribe(listener)
  fail(5)
  clock.advance(500)
  breaker.startProbe()
  breaker.endProbe(true)
  channel('headgate:store-state').unsubscribe(listener)
  fail(5)
  expect(changes).toEqual(['closed -> open: 4', 'open -> half-open: 4', 'half-open -> closed: 4'])
})
