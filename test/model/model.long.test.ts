import { describe, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { redisStore } from '../../src/stores/redis/index.ts'
import { rounds } from '../support/depth.ts'
import { memcached, postgres } from '../support/server-stores.ts'
import { useRedis } from '../support/use-server.ts'
import { type CreateStore, playWorlds } from './plan-laws.ts'
import { callsOfOne, kinds, playMany } from './play.ts'
import { localStores } from './stores.ts'
import { worldKinds } from './worlds.ts'

/** `npm run fuzz -- model` sets these. */
const { HEADGATE_STEPS, HEADGATE_SERVER_STEPS, HEADGATE_SEED = 20_261_122 } = process.env
const steps = Number(HEADGATE_STEPS ?? rounds(200_000, 2_000_000))
const serverSteps = Number(HEADGATE_SERVER_STEPS ?? rounds(5000, 30_000))
const timelines = (steps: number) => Math.ceil(steps / kinds.length / callsOfOne)
const seed = Number(HEADGATE_SEED)

const { client } = await useRedis()
const servers = [await postgres(), await memcached()]
const each = kinds.map((kind) => [kind.name, kind] as const)
const eachWorld = worldKinds.map((kind) => [kind.name, kind] as const)
const timeout = 1_200_000

const onRedis: CreateStore = (clock, prefix) =>
  redisStore({ client, time: 'client', clock, prefix, refusalCache: false, timeout: '10s' })

test.each(each)(`%s in memory, from seed ${seed}`, { timeout }, async (_, kind) => {
  let time = 1
  const store = () => memoryStore({ clock: () => time })
  await playMany(store, (micros) => (time = micros), kind, timelines(steps), seed)
})

test.each(each)(`%s on Redis, from seed ${seed}`, { timeout }, async (_, kind) => {
  let time = 1_767_225_600_000_000
  const store = () => onRedis(() => time, 'model')
  await playMany(store, (micros) => (time = micros), kind, timelines(serverSteps), seed)
})

describe.each(Object.entries(localStores))(`under plans on %s, from seed ${seed}`, (_, create) => {
  test.each(eachWorld)('%s', { timeout }, (_, kind) => playWorlds({ create, kind }, steps / worldKinds.length, seed))
})

const onServers = [['Redis', onRedis], ...servers.map(({ name, create }) => [name, create] as const)] as const

describe.each(onServers)(`under plans on %s, from seed ${seed}`, (_, create) => {
  // A server plays fewer calls, so the laws ask about the last answers only.
  const play = { create, moments: 2 }
  test.each(eachWorld)('%s', { timeout }, (_, kind) =>
    playWorlds({ ...play, kind }, serverSteps / worldKinds.length, seed),
  )
})
