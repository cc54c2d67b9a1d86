/* Properties of batches, at full depth, and the contract without batches and deny cache. */
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

const options = { client, ttlMargin: '1d', timeout: '10s', batch: false, denyCache: false }
let stores = 0

testStore({
  name: 'Redis without batches and deny cache',
  test: test.concurrent,
  create: (clock) => redisStore({ ...options, clock, prefix: `store-${stores++}` }),
})
