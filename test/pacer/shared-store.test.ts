import { expect, test } from 'vitest'
import { gcra, type Policy, slidingLog, smoothBursty } from '../../src/index.ts'
import type { Ledger } from '../../src/store.ts'
import fc from '../support/fast-check.ts'
import { LateStore } from './late-store.ts'
import { Timeline } from './timeline.ts'

/* Several pacers, as in several processes, on the states of one server. It is 5 ms away from all of them. */

const roundTrip = 10

function fleet(policy: Policy, size: number) {
  const timeline = new Timeline()
  const shared = new Map<string, Ledger>()
  const pacers = Array.from({ length: size }, () =>
    timeline.pacer(policy, { store: new LateStore(timeline, roundTrip, shared) }),
  )
  return { timeline, pacers }
}

test('several pacers on one store keep one pace', async () => {
  const { timeline, pacers } = fleet(gcra({ limit: 10, window: '1s', burst: 1 }), 3)
  for (const [n, name] of [...'ABCDEF'].entries()) timeline.write(name, pacers[n % 3]!.acquire())
  expect(await timeline.read()).toBe('A+10 B+110 C+210 D+310 E+410 F+510')
})

test.each([
  ['slidingLog', slidingLog({ limit: 50, window: '1s' }), 50],
  // What is stored, the cost of the last call, and what one second brings.
  ['smoothBursty', smoothBursty({ rate: 30, maxStored: 10 }), 42],
])('%s: never over the limit in any second, however calls come and give up', async (_, policy, most) => {
  // Before a call starts, its pacer asks the store for holds, with one question at a time. So a call starts at most one round trip late.
  const call = fc.record({
    at: fc.integer({ min: 0, max: 1500 }),
    pacer: fc.nat(7),
    maxWait: fc.option(fc.integer({ min: 1, max: 1500 })),
  })
  await fc.assert(
    fc.asyncProperty(fc.array(call, { minLength: 60, maxLength: 200 }), async (unsorted) => {
      const { timeline, pacers } = fleet(policy, 8)
      const admitted: number[] = []
      let ended = 0
      for (const { at, pacer, maxWait } of unsorted.toSorted((a, b) => a.at - b.at)) {
        if (at > timeline.now) await timeline.pass(at - timeline.now)
        const controller = new AbortController()
        if (maxWait !== null) timeline.sleeper(maxWait, () => controller.abort())
        pacers[pacer]!.acquire(1, { signal: controller.signal })
          .then(() => admitted.push(timeline.now))
          .catch(() => undefined)
          .finally(() => ended++)
      }
      await timeline.pass(60_000)
      expect(ended).toBe(unsorted.length)
      for (let n = 0; n + most < admitted.length; n++)
        expect(admitted[n + most]! - admitted[n]!).toBeGreaterThanOrEqual(1000 - roundTrip)
    }),
    { numRuns: 30 },
  )
})
