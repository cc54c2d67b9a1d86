/* A store comes and goes, and limiters of one name spend and reset keys. In the end the store counts every unit that was admitted. */
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { settle, World } from '../support/failing-store.ts'

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

/** The store answers, the breaker is closed, and all debts are settled. */
async function back(world: World): Promise<void> {
  await world.up()
  await settle()
}

test.each(['fixed-window', '', 'burst 10', 'sliding-log'])('10/1d %s', async (algorithm) => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 120 }), async (steps) => {
      const world = new World(`${limit}/1d ${algorithm}`.trim())
      const others = [1, 2].map(() => new World(`${limit}/1d ${algorithm}`.trim(), { planOf: world }))
      const worlds = [world, ...others]
      /** Units of each key that were admitted since it was last reset. */
      const admitted = new Map<string, number>(keys.map((each) => [each, 0]))
      for (const each of steps) {
        if (each.do === 'fail') world.store.mode = 'fails'
        else if (each.do === 'heal') world.store.mode = 'up'
        else if (each.do === 'come back') await back(world)
        else if (each.do === 'reset') {
          await worlds[each.which]?.ledger.reset([each.key])
          admitted.set(each.key, 0)
        } else if (!(await worlds[each.which]?.consume(each.key))?.includes('no')) {
          admitted.set(each.key, (admitted.get(each.key) as number) + 1)
        }
      }
      await back(world)
      expect(world.health).toMatchObject({ state: 'closed', owing: 0 })
      for (const [each, units] of admitted) {
        expect(units).toBeLessThanOrEqual(2 * limit)
        const { source, remaining } = await world.ledger.decide('peek', [each], 1)
        expect([each, source, remaining]).toEqual([each, 'store', Math.max(0, limit - units)])
      }
    }),
    { numRuns: 100 },
  )
})
