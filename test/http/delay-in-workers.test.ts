import { expect, test, vi } from 'vitest'

test('in Cloudflare Workers, no queue stays for a key whose requests have waited', async () => {
  vi.stubGlobal('navigator', { userAgent: 'Cloudflare-Workers' })
  vi.resetModules()
  const { BookedSlots } = await import('../../src/http/held/booked-slots.ts')
  vi.unstubAllGlobals()
  const slots = new BookedSlots()
  for (let n = 0; n < 50; n++) {
    slots.ask(`k${n}`, 1)(true)
    void slots.wait({ key: `k${n}`, cost: 1, reservation: { wait: 0 } as never, giveBack() {} }, () => {})
  }
  await new Promise((resolve) => setTimeout(resolve, 5))
  expect(slots.size).toBe(0)
})
