import { expect, test } from 'vitest'
import { withLimit } from '../../src/algorithms/define-policy.ts'
import { fixedWindow, lruStore, memoryStore, policy, RateLimiter, tokenBucket } from '../../src/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { brokenStore } from '../support/async-store.ts'
import { describeClosed } from '../support/closed.ts'
import { MapDatabase } from '../support/map-store.ts'

describeClosed('memory', (clock) => memoryStore({ clock }))
describeClosed('lru', (clock) => lruStore({ clock }))
describeClosed('records', (clock) => new MapDatabase().store({ clock }))

test('a store that fails is replaced by a limit that is 0 too, however many instances share it', async () => {
  const down = async () => Promise.reject(new Error('down'))
  const limiter = new RateLimiter({ policies: '0/1h', store: brokenStore(down), instances: 4 })
  expect(await limiter.consume('k')).toMatchObject({ allowed: false, limit: 0, source: 'fallback' })
})

test('a burst beside a limit of 0 is refused, and so are options that the algorithm does not have', () => {
  expect(() => tokenBucket({ limit: 0, window: '1h', burst: 5 })).toThrow(
    expect.objectContaining({ code: 'HEADGATE_BURST' }),
  )
  expect(() => policy('0/1h burst 5')).toThrow(expect.objectContaining({ code: 'HEADGATE_BURST' }))
  expect(() => fixedWindow({ limit: 0, window: '1h', align: 'day' as never })).toThrow(/align/)
  expect(() => withLimit(policy('0/1h'), 5)).toThrow(expect.objectContaining({ code: 'HEADGATE_RATE' }))
})

test('a pacer refuses every call at once', async () => {
  const pacer = new Pacer('0/1h')
  await expect(pacer.acquire()).rejects.toMatchObject({ name: 'HeadgateError' })
  expect(() => pacer.setRate(5)).toThrow(expect.objectContaining({ code: 'HEADGATE_RATE' }))
})
