import { redisStore } from '../../../src/stores/redis/index.ts'
import { rounds } from '../../support/depth.ts'
import { describeLaws } from '../../support/laws.ts'
import { describePlanLaws } from '../../support/plan-laws.ts'
import { describeSettlementLaws } from '../../support/settlement-laws.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

let stores = 0
/** Every store has keys of its own, which outlive the test whatever its clock says. */
const create = (clock: () => number) =>
  redisStore({ client, time: 'client', clock, prefix: `laws${stores++}`, ttlMargin: '1d', timeout: '20s' })

describeLaws('Redis', create, { numRuns: 8 })
describeSettlementLaws('Redis', create, { numRuns: 20 })
describePlanLaws('Redis', create, { numRuns: rounds(300, 1000) })
