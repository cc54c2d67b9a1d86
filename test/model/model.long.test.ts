import { test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { useRedis } from '../support/use-server.ts'
import { callsOfOne, kinds, playMany } from './play.ts'

/** `npm run fuzz -- model` sets these. */
const { HEADGATE_STEPS = 2_000_000, HEADGATE_REDIS_STEPS = 50_000, HEADGATE_SEED = 20_261_122 } = process.env
const timelines = (steps: number) => Math.ceil(steps / kinds.length / callsOfOne)
const seed = Number(HEADGATE_SEED)

const { client } = await useRedis()
const each = kinds.map((kind) => [kind.name, kind] as const)
const timeout = 1_200_000

test.each(each)(`%s in memory, from seed ${seed}`, { timeout }, async (_, kind) => {
  let time = 1
  const store = () => memoryStore({ clock: () => time })
  await playMany(store, (micros) => (time = micros), kind, timelines(Number(HEADGATE_STEPS)), seed)
})

test.each(each)(`%s on Redis, from seed ${seed}`, { timeout }, async (_, kind) => {
  let time = 1_767_225_600_000_000
  const store = () => redisStore({ client, time: 'client', clock: () => time, refusalCache: false, timeout: '10s' })
  await playMany(store, (micros) => (time = micros), kind, timelines(Number(HEADGATE_REDIS_STEPS)), seed)
})
