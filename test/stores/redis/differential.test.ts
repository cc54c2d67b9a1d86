import fc from 'fast-check'
import { test } from 'vitest'
import { carryRules } from '../../../src/algorithms/carry.ts'
import { algorithms, compare, plansOf, policiesOf, scripts } from '../../support/differential.ts'
import { redisSubject } from '../../support/redis-subject.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

const names = [...(Object.keys(algorithms) as (keyof typeof algorithms)[]), 'several', 'punished'] as const

test.each([...carryRules, 'retune'] as const)(
  'under several plans by turns, by the rule %s: the same decisions and states',
  async (rule) => {
    await fc.assert(
      fc.asyncProperty(plansOf(), scripts, (policies, script) => compare(redisSubject(client), policies, script, rule)),
      { numRuns: 800 },
    )
  },
)

test.each(names)('%s: the same decisions and states as the definition and as memory', async (name) => {
  await fc.assert(
    fc.asyncProperty(policiesOf(name), scripts, (policies, script) => compare(redisSubject(client), policies, script)),
    { numRuns: name === 'several' ? 400 : 200 },
  )
})
