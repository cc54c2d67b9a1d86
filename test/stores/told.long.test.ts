/* Eight processes spend the quotas of thousands of keys: each threshold of each key is told once, also if a process is killed. */
import { Pool } from 'pg'
import { describe, expect, test } from 'vitest'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { day, inDepth } from '../support/depth.ts'
import { type FleetTask, toldBy } from '../support/fleet.ts'
import { startPostgres } from '../support/postgres-server.ts'
import { startRedis } from '../support/redis-server.ts'
import { useServer } from '../support/use-server.ts'

const redis = await useServer(startRedis())
const postgres = await useServer(startPostgres())
const pool = new Pool(postgres.config)
await postgresStore({ pool }).migrate()
await pool.end()

/** A part of the keys, another number each day. */
const part = 500 + (day % 100)

const servers: readonly (readonly [string, number, Pick<FleetTask, 'kind' | 'ports' | 'store'>])[] = [
  ['Redis', inDepth ? 10_000 : part, { kind: 'redis', ports: [redis.port], store: {} }],
  [
    'Redis with leases',
    inDepth ? 10_000 : part,
    { kind: 'redis', ports: [redis.port], store: { leases: { units: 2 } } },
  ],
  ['Postgres', inDepth ? 2000 : Math.ceil(part / 5), { kind: 'postgres', ports: [postgres.port], store: {} }],
]

describe.each(servers)('%s, 8 processes, %i keys', (name, keys, server) => {
  const task = { ...server, keys, processes: 8, limit: 5 }
  const all = Array.from({ length: keys }, (_, n) => [`k${n} 0.5`, `k${n} 1`]).flat()
  const prefixed = (prefix: string) => ({ ...task, store: { ...task.store, prefix: `${prefix}-${name.length}` } })

  test('each threshold of each key is told once', async () => {
    expect((await toldBy(prefixed('told'), false)).toSorted()).toEqual(all.toSorted())
  })

  test('a process is killed in the middle: the event of its call in flight may be missed, and none is told twice', async () => {
    const told = await toldBy(prefixed('killed'), true)
    const events = new Set(told)
    expect(events.size).toBe(told.length)
    expect(all.filter((each) => !events.has(each)).length).toBeLessThanOrEqual(1)
  })
})
