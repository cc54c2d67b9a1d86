/* Batches at full depth, and the whole contract, also without batches and cache of refusals. */
import { test } from 'vitest'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { testStore } from '../../../src/testing/index.ts'
import { checkBatchedCalls } from '../../support/batched-calls.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

test(
  'calls that travel together are decided as if they came one by one',
  () => checkBatchedCalls(client, 2000),
  120_000,
)

let stores = 0

for (const [name, options] of Object.entries({
  Redis: {},
  'Redis without batches and cache of refusals': { batch: false, refusalCache: false },
})) {
  testStore({
    name,
    test: test.concurrent,
    create: (clock) =>
      redisStore({ client, clock, ttlMargin: '1d', timeout: '10s', prefix: `store-${stores++}`, ...options }),
  })
}
