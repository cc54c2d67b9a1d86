import { expect, test } from 'vitest'
import { type CacheEntry, KeyCache } from '../../../src/stores/redis/local/key-cache.ts'
import { ManualClock } from '../../../src/testing/index.ts'

interface Noted extends CacheEntry {
  readonly id: number
}

/** A cache whose entries are valid for one second. */
function cacheOf(clock: ManualClock) {
  const cache = new KeyCache<Noted>(clock.now)
  const add = (keys: string[], id = 0) => {
    const from = clock.now()
    cache.set(keys, { from, until: from + 1_000_000, version: cache.version, id })
  }
  return { cache, add }
}

test('an entry is found until its time is over, and not before it began', () => {
  const clock = new ManualClock()
  const { cache, add } = cacheOf(clock)
  add(['a'], 1)
  clock.advance(999)
  expect(cache.find(['a'])?.id).toBe(1)
  clock.advance(1)
  expect(cache.find(['a'])).toBeUndefined()
  add(['a'], 2)
  clock.set(clock.milliseconds - 1)
  expect(cache.find(['a'])).toBeUndefined()
})

test('a change of one key removes the entries with this key, and a change of all keys every entry of several keys', () => {
  const { cache, add } = cacheOf(new ManualClock())
  const entries = [['a'], ['b'], ['c', 'd'], ['c', 'a'], ['a', 'd']]
  const found = () => entries.map((keys) => cache.find(keys) !== undefined)
  for (const keys of entries) add(keys)
  cache.forget(['a'])
  expect(found()).toEqual([false, true, true, false, false])
  for (const keys of entries) add(keys)
  expect(found()).toEqual([true, true, true, true, true])
  cache.forgetAll('c')
  expect(found()).toEqual([true, true, false, false, false])
})

test('of 10,001 entries, the one that was used least recently is gone', () => {
  const { cache, add } = cacheOf(new ManualClock())
  for (let n = 0; n < 10_000; n++) add([`${n}`], n)
  cache.find(['0'])
  add(['another'])
  expect([cache.find(['0'])?.id, cache.find(['1']), cache.find(['2'])?.id]).toEqual([0, undefined, 2])
})
