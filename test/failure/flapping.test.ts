/* A store comes and goes, and limiters of one name spend and reset keys. In the end the store counts every unit that was admitted. */

import { expect, test } from 'vitest'
import { rounds } from '../support/depth.ts'
import { FailoverFixture, settle } from '../support/failing-store.ts'
import fc from '../support/fast-check.ts'

const limit = 10
const keys = ['a', 'b', 'c'] as const

const key = fc.constantFrom(...keys)
const which = fc.nat({ max: 2 })
const step = fc.oneof(
  { weight: 12, arbitrary: fc.record({ do: fc.constant('consume' as const), which, key }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('reset' as const), which, key }) },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('fail' as const) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('heal' as const) }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('come back' as const) }) },
)

/** The store responds, the breaker is closed, and all debts are settled. */
async function back(fixture: FailoverFixture): Promise<void> {
  await fixture.up()
  await settle()
}

test.each(['fixed-window', '', 'burst 10', 'sliding-log'])('10/1d %s', async (algorithm) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const fixture = new FailoverFixture(`${limit}/1d ${algorithm}`.trim())
      const others = [1, 2].map(() => new FailoverFixture(`${limit}/1d ${algorithm}`.trim(), { planOf: fixture }))
      const fixtures = [fixture, ...others]
      /** Units of each key that were admitted since it was last reset. */
      const admitted = new Map<string, number>(keys.map((each) => [each, 0]))
      for (const each of steps) {
        if (each.do === 'fail') fixture.store.mode = 'fails'
        else if (each.do === 'heal') fixture.store.mode = 'up'
        else if (each.do === 'come back') await back(fixture)
        else if (each.do === 'reset') {
          await fixtures[each.which]?.ledger.run({ verb: 'reset', keys: [each.key] })
          admitted.set(each.key, 0)
        } else if (!(await fixtures[each.which]?.consume(each.key))?.includes('no')) {
          admitted.set(each.key, (admitted.get(each.key) as number) + 1)
        }
      }
      await back(fixture)
      expect(fixture.health).toMatchObject({ state: 'closed', owing: 0 })
      for (const [each, units] of admitted) {
        expect(units).toBeLessThanOrEqual(2 * limit)
        const { source, remaining } = await fixture.ledger.run({ verb: 'peek', keys: [each] })
        expect([each, source, remaining]).toEqual([each, 'store', Math.max(0, limit - units)])
      }
    }),
    { numRuns: rounds(40, 100) },
  )
})
