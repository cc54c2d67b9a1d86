import { mock } from 'node:test'
import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { Deadlines } from '../../src/stores/contract/deadlines.ts'
import { DeadlineItem } from '../../src/stores/contract/pending-call.ts'
import { watchLag } from '../support/lag.ts'

class Item extends DeadlineItem {
  expire = vi.fn()
}

test('a process that was busy beyond the deadline reads what has arrived before it expires', async () => {
  const deadlines = new Deadlines('The store', 5)
  const item = new Item()
  deadlines.add(item)
  const started = performance.now()
  while (performance.now() - started < 20);
  await turn()
  expect(item.expire).not.toHaveBeenCalled()
  await expect.poll(() => item.expire.mock.calls.length).toBe(1)
  expect(item.waits).toBe(false)
})

test.each([
  ['the first ones', 0],
  ['others wait', 1],
])('a turn that makes calls for longer than the timeout gives their answers a chance: %s', async (_, others) => {
  const deadlines = new Deadlines('The store', 400)
  for (let n = 0; n < others; n++) deadlines.add(new Item())
  await sleep(5)
  const items = [new Item(), new Item(), new Item()]
  for (const item of items) {
    const started = performance.now()
    deadlines.add(item)
    while (performance.now() - started < 300);
  }
  for (let n = 0; n < 4; n++) await turn()
  expect(items.map(({ expire }) => expire.mock.calls.length)).toEqual([0, 0, 0])
  await expect.poll(() => items.some(({ waits }) => waits)).toBe(false)
})

test.each([30 * 86_400_000, Number.MAX_SAFE_INTEGER, Infinity])('a timeout of %d ms does not end early', async (ms) => {
  const sleeps: number[] = []
  const deadlines = new Deadlines('The store', ms, undefined, undefined, (milliseconds, wake) => {
    sleeps.push(milliseconds)
    const timer = setTimeout(wake, milliseconds)
    return () => clearTimeout(timer)
  })
  const item = new Item()
  deadlines.add(item)
  await sleep(30)
  expect(sleeps.length > 0).toBe(ms !== Infinity)
  expect(Math.max(...sleeps)).toBeLessThan(2 ** 31)
  expect([item.expire.mock.calls.length, deadlines.remove(item)]).toEqual([0, true])
})

test('each item expires once, in order, and one that is removed does not', async () => {
  const deadlines = new Deadlines('The store', 5)
  const items = [new Item(), new Item(), new Item()] as const
  for (const item of items) deadlines.add(item)
  expect([deadlines.remove(items[1]), deadlines.remove(items[1])]).toEqual([true, false])
  await expect.poll(() => items[2].waits).toBe(false)
  expect(items.map(({ expire }) => expire.mock.calls.length)).toEqual([1, 0, 1])
  const last = new Item()
  deadlines.add(last)
  await expect.poll(() => last.waits).toBe(false)
  expect(last.expire).toHaveBeenCalledOnce()
})

test('a call made after a standstill, in the same turn, does not hide it from the calls before', async () => {
  const deadlines = new Deadlines('The store', 50)
  const [first, second] = [new Item(), new Item()]
  deadlines.add(first)
  const started = performance.now()
  while (performance.now() - started < 80);
  deadlines.add(second)
  await turn()
  await turn()
  await turn()
  expect(first.expire).not.toHaveBeenCalled()
  await expect.poll(() => first.expire.mock.calls.length).toBe(1)
})

test('a deadline is longer by the time in which the process stood still, and not by what it waited before', async () => {
  const { lag, stop } = watchLag()
  const deadlines = new Deadlines('The store', 1000)
  const item = new Item()
  const added = performance.now()
  deadlines.add(item)
  await sleep(980)
  const busy = performance.now()
  while (performance.now() - busy < 40);
  await new Promise((resolve) => item.expire.mockImplementation(resolve))
  stop()
  expect(performance.now() - added - lag()).toBeLessThan(1100)
})

test('one timer serves the items that follow each other, and it is not set again after the last one', async () => {
  const sleeps: number[] = []
  const deadlines = new Deadlines('The store', 1000, undefined, undefined, (milliseconds, wake) => {
    sleeps.push(milliseconds)
    const timer = setTimeout(wake, milliseconds)
    return () => clearTimeout(timer)
  })
  for (let n = 0; n < 100; n++) {
    const item = new Item()
    deadlines.add(item)
    expect(deadlines.remove(item)).toBe(true)
  }
  expect(sleeps).toEqual([20])
  await sleep(100)
  expect(sleeps).toEqual([20])
  deadlines.add(new Item())
  expect(sleeps).toEqual([20, 20])
})

test.each([
  ['vitest', () => vi.useFakeTimers(), () => vi.useRealTimers()],
  ['node:test', () => mock.timers.enable(), () => mock.timers.reset()],
])('a deadline passes under the fake timers of %s, and after them', async (_, fake, real) => {
  const deadlines = new Deadlines('The store', 30)
  const items = [new Item(), new Item(), new Item()] as const
  deadlines.add(items[0])
  fake()
  try {
    deadlines.add(items[1])
    await sleep(400)
  } finally {
    real()
  }
  deadlines.add(items[2])
  await sleep(400)
  expect(items.map(({ expire }) => expire.mock.calls.length)).toEqual([1, 1, 1])
})

test('a clock that goes back does not lengthen a deadline', async () => {
  let now = 10_000_000_000
  const started = performance.now()
  const deadlines = new Deadlines(
    'The store',
    50,
    undefined,
    () => now + Math.floor((performance.now() - started) * 1000),
  )
  const items = [new Item(), new Item(), new Item()] as const
  deadlines.add(items[0])
  deadlines.add(items[1])
  await sleep(30)
  now -= 3_600_000_000
  deadlines.add(items[2])
  await expect.poll(() => items.map(({ waits }) => waits)).toEqual([false, false, false])
})

test('an item that takes long when it expires gives the time back to those that wait', async () => {
  const deadlines = new Deadlines('The store', 200)
  const [first, second] = [new Item(), new Item()]
  let busy = 0
  let free = 0
  let hadItsTime = false
  first.expire.mockImplementation(() => {
    hadItsTime = second.moved // the machine stood still before, and a deadline is moved once
    busy = performance.now()
    while (performance.now() - busy < 300);
    free = performance.now()
  })
  deadlines.add(first)
  await sleep(60)
  deadlines.add(second)
  const added = performance.now()
  await new Promise((resolve) => second.expire.mockImplementation(resolve))
  // On a busy machine the second item may come late, or even after the first one has expired.
  const hadWaited = Math.max(0, busy - added)
  const given = hadItsTime ? 0 : 200 - hadWaited
  expect(performance.now() - Math.max(free, added)).toBeGreaterThan(given - 30)
})

test('an item that throws when it expires does not keep the others waiting', async () => {
  const sleeps: (() => void)[] = []
  let now = 0
  const clock = () => now
  const deadlines = new Deadlines('The store', 5, undefined, clock, (_, wake) => {
    sleeps.push(wake)
    return () => {}
  })
  const thrown = new Promise((resolve) => {
    const listeners = process.listeners('uncaughtException')
    process.removeAllListeners('uncaughtException')
    process.once('uncaughtException', (error) => {
      for (const listener of listeners) process.on('uncaughtException', listener)
      resolve(error)
    })
  })
  const [broken, other] = [new Item(), new Item()]
  const error = new Error('broken')
  broken.expire.mockImplementation(() => {
    throw error
  })
  deadlines.add(broken)
  deadlines.add(other)
  now = 5000
  sleeps.pop()?.()
  expect(await thrown).toBe(error)
  sleeps.pop()?.()
  await expect.poll(() => other.expire.mock.calls.length).toBe(1)
})

test('a standstill a little longer than a short timeout is given back', async () => {
  const deadlines = new Deadlines('The store', 20)
  const item = new Item()
  deadlines.add(item)
  const started = performance.now()
  while (performance.now() - started < 32);
  await new Promise((resolve) => item.expire.mockImplementation(resolve))
  expect(performance.now() - started).toBeGreaterThan(48)
})
