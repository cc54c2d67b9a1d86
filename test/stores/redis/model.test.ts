import { test } from 'vitest'
import { redisStore } from '../../../src/stores/redis/index.ts'
import { kinds, playMany } from '../../model/play.ts'
import { useRedis } from '../../support/use-server.ts'

const { client } = await useRedis()

/** model.long.test.ts plays many more. */
test.each(kinds.map((kind) => [kind.name, kind] as const))('%s: every answer is that of the model', async (_, kind) => {
  let time = 1_767_225_600_000_000
  const store = () => redisStore({ client, time: 'client', clock: () => time, refusalCache: false, timeout: '10s' })
  await playMany(store, (micros) => (time = micros), kind, 3, 3)
})
