import { describe, expect, test } from 'vitest'
import { KeyHash } from '../../../src/stores/memory/key-hash.ts'

describe('the hash of keys', () => {
  function hashes(seed: readonly [number, number], keys: readonly string[]): number[][] {
    const hash = new KeyHash(seed)
    return keys.map((key) => {
      hash.read(key)
      return [hash.place, hash.tag]
    })
  }

  test('different keys get different hashes in each half, and other ones under another seed', () => {
    const keys = Array.from({ length: 2000 }, (_, n) => `203.0.113.${n}`)
    const odd = ['', '\0', '\0\0', 'a', 'a\0', '\0a', 'ab', 'ba', '\ud800', '\ud801', 'k'.repeat(300), 'k'.repeat(301)]
    const one = hashes([1, 2], [...keys, ...odd])
    const other = hashes([1, 3], [...keys, ...odd])
    for (const half of [0, 1]) expect(new Set([...one, ...other].map((pair) => pair[half])).size).toBe(2 * one.length)
    expect(hashes([1, 2], keys)).toEqual(one.slice(0, 2000))
  })

  test('keys are spread evenly over 64 places', () => {
    const keys = Array.from({ length: 64_000 }, (_, n) => `user:${n}`)
    for (const half of [0, 1]) {
      const counts = new Array(64).fill(0)
      for (const pair of hashes([5, 6], keys)) counts[(pair[half] as number) % 64]++
      expect(Math.min(...counts)).toBeGreaterThan(850)
      expect(Math.max(...counts)).toBeLessThan(1150)
    }
  })
})
