import { setTimeout as sleep, setImmediate as turn } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { DeadlineItem, Deadlines } from '../../src/stores/deadlines.ts'

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

test.each([30 * 86_400_000, Number.MAX_SAFE_INTEGER, Infinity])(
  'a timeout of %d ms fires no timer early',
  async (ms) => {
    const sleeps: number[] = []
    const deadlines = new Deadlines('The store', ms, undefined, undefined, (milliseconds, wake) => {
      sleeps.push(milliseconds)
      const timer = setTimeout(wake, milliseconds)
      return () => clearTimeout(timer)
    })
    const item = new Item()
    deadlines.add(item)
    await sleep(30)
    expect(sleeps).toEqual(ms === Infinity ? [] : [2 ** 31 - 1])
    expect([item.expire.mock.calls.length, deadlines.remove(item)]).toEqual([0, true])
  },
)

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
