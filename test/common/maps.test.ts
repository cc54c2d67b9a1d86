import { expect, test } from 'vitest'
import { RecentMap } from '../../src/common/index.ts'

test('the entries that were used last stay', () => {
  const map = new RecentMap<string, number>(2)
  map.set('a', 1).set('b', 2)
  expect([map.get('a'), map.get('z')]).toEqual([1, undefined])
  map.set('c', 3)
  expect([...map]).toEqual([
    ['a', 1],
    ['c', 3],
  ])
  map.set('a', 4).set('d', 5)
  expect([...map]).toEqual([
    ['a', 4],
    ['d', 5],
  ])
})
