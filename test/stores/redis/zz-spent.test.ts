import { describe, expect, test } from 'vitest'
import { useRedis } from '../../support/use-server.ts'
import fc from '../../support/fast-check.ts'
import { compare, plansOf, policiesOf, scripts } from '../../support/differential.ts'
import { redisSubject } from '../../support/redis-subject.ts'
const { client } = await useRedis()
test('spent', async () => {
  const subject = redisSubject(client)
  await fc.assert(fc.asyncProperty(policiesOf('punished').filter((p) => p.at(-1)!.algorithm.spends === true), scripts, (p, s) => compare(subject, p, s)), { numRuns: 1500 })
}, 200000)
test('plans', async () => {
  const subject = redisSubject(client)
  await fc.assert(fc.asyncProperty(plansOf().filter((ps) => ps.some((p) => p.at(-1)!.algorithm.spends === true)), scripts, (p, s) => compare(subject, p, s)), { numRuns: 700 })
}, 200000)
