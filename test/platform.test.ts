import { describe, expect, test } from 'vitest'
import * as node from '../src/platform/node.ts'
import type { Platform } from '../src/platform/platform.ts'
import * as web from '../src/platform/web.ts'

const platforms: readonly (readonly [string, Platform])[] = [
  ['Node', node],
  ['the web', web],
]

describe.each(platforms)('the platform of %s', (_name, platform) => {
  test('reads whole microseconds since the epoch, which never go back', () => {
    const first = platform.microseconds()
    const second = platform.microseconds()
    expect(Number.isSafeInteger(first)).toBe(true)
    expect(second).toBeGreaterThanOrEqual(first)
    expect(Math.abs(first / 1000 - Date.now())).toBeLessThan(60_000)
  })

  test('draws two random 32-bit integers', () => {
    const words = platform.randomWords()
    expect(words.map((word) => word | 0)).toEqual(words)
    expect(platform.randomWords()).not.toEqual(words)
  })

  test('hashes as FIPS 180-4 and RFC 4231 say', () => {
    const hex = (bytes: Uint8Array) => Buffer.from(bytes).toString('hex')
    expect(hex(platform.sha256(new TextEncoder().encode('abc')))).toBe(
      'ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad',
    )
    expect(hex(platform.hmacSha256('Jefe', 'what do ya want for nothing?'))).toBe(
      '5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843',
    )
  })

  test('runs a function after events that are pending', async () => {
    const order: string[] = []
    await new Promise<void>((resolve) => {
      platform.afterPendingEvents(() => resolve(void order.push('later')))
      order.push('now')
    })
    expect(order).toEqual(['now', 'later'])
  })

  test('has channels without subscribers at first', () => {
    expect(platform.channel(`headgate:test:${Math.random()}`).hasSubscribers).toBe(false)
  })
})

test('both platforms have the same names', () => {
  expect(Object.keys(web).sort()).toEqual(Object.keys(node).sort())
})
