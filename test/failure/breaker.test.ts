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

test('five failures in a row open it, fewer do not', () => {
  fail(4)
  breaker.succeeded()
  fail(4)
  expect([breaker.state, breaker.closed]).toEqual(['closed', true])
  fail(1)
  expect([breaker.state, breaker.closed]).toEqual(['open', false])
})

test('one probe at a time, 500 ms apart', () => {
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

test('answers to calls that were under way do not close it, nor do their failures prolong it', () => {
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

test('who waits for an answer is told once, of a probe or of a call', () => {
  let told = 0
  fail(5)
  breaker.onNextAnswer(() => told++)
  breaker.succeeded()
  for (const answered of [false, true]) {
    clock.advance(500)
    breaker.startProbe()
    breaker.endProbe(answered)
    expect(told).toBe(answered ? 1 : 0)
  }
  fail(1)
  expect(breaker.doubtful).toBe(true)
  breaker.onNextAnswer(() => told++)
  breaker.succeeded()
  breaker.succeeded()
  expect([told, breaker.doubtful]).toEqual([2, false])
})

test('a store has one breaker', () => {
  const store = new FailingStore(clock)
  expect(breakerOf(store)).toBe(breakerOf(store))
  expect(breakerOf(store)).not.toBe(breakerOf(new FailingStore(clock)))
})

test('the channel headgate:store-state', () => {
  const told: string[] = []
  const listener = (event: unknown) => {
    const { from, to, error } = event as StoreStateEvent
    told.push(`${from} -> ${to}: ${(error as Error).message}`)
  }
  channel('headgate:store-state').subscribe(listener)
  fail(5)
  clock.advance(500)
  breaker.startProbe()
  breaker.endProbe(true)
  channel('headgate:store-state').unsubscribe(listener)
  fail(5)
  expect(told).toEqual(['closed -> open: 4', 'open -> half-open: 4', 'half-open -> closed: 4'])
})
