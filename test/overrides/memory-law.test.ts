/*
 * A law of the memory store: calls under an override get the answers that calls under an equal plan get, whatever comes before and
 * between, and in whichever of the two layouts the states are.
 */
import { expect, test } from 'vitest'
import {
  type Decision,
  fixedWindow,
  memoryStore,
  type Policy,
  RateLimiter,
  slidingLog,
  slidingWindow,
  tokenBucket,
} from '../../src/index.ts'
import { ManualClock } from '../../src/testing/index.ts'
import fc from '../support/fast-check.ts'

const kinds = [fixedWindow, slidingWindow, slidingLog, tokenBucket]

const step = fc.record({
  verb: fc.constantFrom(
    'consume',
    'consume',
    'consume',
    'reserve',
    'refund',
    'charge',
    'reset',
    'switch',
    'switch',
    'usage',
  ),
  key: fc.constantFrom('a', 'b', 'c', 'd'),
  cost: fc.integer({ min: 1, max: 4 }),
  wait: fc.integer({ min: 0, max: 900 }),
  settle: fc.integer({ min: 0, max: 5 }),
})

const without = ({ override: _, ...decision }: Decision) => decision

test('an override is an equal plan for its keys, on every kind of state', async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.constantFrom(...kinds),
      fc.constantFrom(1, 3, 9, 20),
      fc.array(step, { maxLength: 40 }),
      async (make, limit, steps) => {
        const policyOf = (units: number): Policy => make({ name: 'p', limit: units, window: '2s' })
        const clock = new ManualClock(Date.UTC(2030, 0, 1))
        const limiterOf = () => new RateLimiter({ policies: policyOf(6), store: memoryStore({ clock: clock.now }) })
        const [overridden, planned] = [limiterOf(), limiterOf()]
        const plan = planned.withPlan(policyOf(limit)) // both stores then have lists of states, the second one of all keys
        let id: string | undefined
        const open: (() => Promise<unknown>)[] = []
        for (const { verb, key, cost, wait, settle } of steps) {
          clock.advance(wait)
          const other = id !== undefined && key < 'c' ? plan : planned
          if (verb === 'switch') {
            if (id === undefined) ({ id } = await overridden.override({ prefix: 'a' }, { limit }))
            else {
              await overridden.removeOverride(id)
              for (const end of open.splice(0)) await end()
              id = undefined
            }
            if (id !== undefined)
              await overridden
                .override({ prefix: 'b' }, { limit })
                .then(({ id: b }) => open.push(() => overridden.removeOverride(b)))
            continue
          }
          if (verb === 'reset') await Promise.all([overridden.reset(key), planned.reset(key)])
          else if (verb === 'usage')
            expect((await overridden.usage(key)).policies).toEqual((await other.usage(key)).policies)
          else if (verb === 'reserve') {
            const [one, two] = [await overridden.reserve(key, { cost }), await other.reserve(key, { cost })]
            expect(without(one.decision)).toEqual(two.decision)
            await Promise.all([one.settle(settle), two.settle(settle)])
          } else {
            const [one, two] = [await overridden[verb](key, { cost }), await other[verb](key, { cost })]
            expect(without(one)).toEqual(two)
            expect(one.override !== undefined).toBe(other === plan)
          }
        }
      },
    ),
    { numRuns: 300 },
  )
})
