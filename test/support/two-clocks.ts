/* Two processes whose clocks are 25 ms or almost 60 s apart, on one key. */
import { describe, expect, test } from 'vitest'
import {
  type Clock,
  fixedWindow,
  gcra,
  memoryStore,
  type Policy,
  type Store,
  segmentedWindow,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import { BareLimiter } from './bare-limiter.ts'
import { rounds } from './depth.ts'
import { seededRandom } from './seeded-random.ts'

const apart = 25
const calls = rounds(400, 1000)

/** Two units at once. Within the 25 ms, two more are due. */
const policies: readonly Policy[] = [
  gcra({ limit: 100, window: '1s', burst: 2 }),
  tokenBucket({ limit: 100, window: '1s', burst: 2 }),
  tokenBucket({ limit: 2, window: '20ms', refill: 'interval' }),
  fixedWindow({ limit: 2, window: '20ms' }),
  fixedWindow({ limit: 2, window: '20ms', align: 'first-request' }),
  slidingLog({ limit: 2, window: '20ms' }),
  slidingWindow({ limit: 2, window: '10ms' }),
  segmentedWindow({ limit: 2, window: '10ms', segments: 2 }),
]

/** @param create opens the same states each time it is called with one prefix */
export function describeTwoClocks(name: string, create: (clock: Clock, prefix: string) => Store): void {
  describe.each(policies.map((policy, n) => [policy.algorithm.kind, n, policy] as const))(
    `${name}, processes whose clocks differ: %s %i`,
    (_, n, policy) => {
      function fleet(title: string, milliseconds = apart) {
        const early = new ManualClock()
        const late = new ManualClock(early.milliseconds + milliseconds)
        const limiters = [early, late].map((clock) => limiterOf(policy, create(clock.now, `clocks-${n}-${title}`)))
        return { early, late, limiters: limiters as [BareLimiter, BareLimiter] }
      }

      test.each([apart, 59_999])(
        'on clocks that stand still %i ms apart, they admit what is due at the later time',
        async (milliseconds) => {
          const { limiters } = fleet(`still-${milliseconds}`, milliseconds)
          let admitted = 0
          for (let call = 0; call < calls; call++) {
            const limiter = limiters[call < 3 ? 0 : call % 2] as BareLimiter
            if ((await limiter.consume('k')).allowed) admitted++
          }
          expect(admitted).toBe(4)
        },
      )

      test('on clocks that move, they admit the calls that one process with the latest time so far admits', async () => {
        const { early, late, limiters } = fleet('moving')
        const random = seededRandom(n + 1)
        let latest = 0
        const alone = limiterOf(policy, memoryStore({ clock: () => latest }))
        latest = early.now()
        const admitted: boolean[] = []
        const due: boolean[] = []
        for (let call = 0; call < calls / 2; call++) {
          for (const clock of [early, late]) clock.advance(random(4))
          const which = random(2)
          latest = Math.max(latest, (which === 0 ? early : late).now())
          admitted.push((await (limiters[which] as BareLimiter).consume('k')).allowed)
          due.push((await alone.consume('k')).allowed)
        }
        expect(admitted).toEqual(due)
      })
    },
  )
}

function limiterOf(policy: Policy, store: Store): BareLimiter {
  return new BareLimiter({ name: 'clocks', policies: [policy], store })
}
