import type { Redis } from 'ioredis'
import { describe, test } from 'vitest'
import { carryRules } from '../../src/algorithms/carry.ts'
import { algorithms, compare, plansOf, policiesOf, scripts } from './differential.ts'
import fc from './fast-check.ts'
import { redisSubject } from './redis-subject.ts'

const names = [...(Object.keys(algorithms) as (keyof typeof algorithms)[]), 'several', 'punished'] as const

/** In milliseconds: a failed script is shrunk, which takes a while. */
const timeout = 300_000

/** @param numRuns random scripts for each algorithm; several policies and plans get more */
export function describeRedisDifferential(client: Redis, numRuns: number): void {
  const subject = redisSubject(client)

  describe('Redis makes the same decisions and keeps the same states as the reference store and the memory store', () => {
    test.each(names)(
      '%s',
      (name) =>
        fc.assert(
          fc.asyncProperty(policiesOf(name), scripts, (policies, script) => compare(subject, policies, script)),
          { numRuns: name === 'several' ? 2 * numRuns : numRuns },
        ),
      timeout,
    )

    test.each([...carryRules, 'retune'] as const)(
      'several plans in turn, with the rule %s',
      (rule) =>
        fc.assert(
          fc.asyncProperty(plansOf(), scripts, (plans, script) => compare(subject, plans, script, rule)),
          { numRuns: 4 * numRuns },
        ),
      timeout,
    )
  })
}
