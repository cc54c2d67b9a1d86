/* The stores that need a server or another process, on one that the test file starts. */
import cluster from 'node:cluster'
import { MemcacheClient } from 'memcache-client'
import { Pool } from 'pg'
import { afterAll } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { postgresStore } from '../../src/stores/postgres/index.ts'
import { startWorker } from './cluster-proxy.ts'
import { startMemcached } from './memcached-server.ts'
import { startPostgres } from './postgres-server.ts'
import { useServer } from './use-server.ts'
import type { WholeStore } from './whole-store.ts'

type ServerStore = Omit<WholeStore, 'runs'>

const options = { ttlMargin: '1d', timeout: '10s' }

export async function memcached(): Promise<ServerStore> {
  const { port } = await useServer(startMemcached())
  const client = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
  afterAll(() => client.shutdown())
  return {
    name: 'Memcached',
    create: (clock, prefix) => memcachedStore({ client, clock, prefix, ...options }),
    text: async (key) => (await client.gets<string>(key))?.value,
  }
}

export async function postgres(): Promise<ServerStore> {
  const { config } = await useServer(startPostgres())
  const pool = new Pool(config)
  afterAll(() => pool.end())
  await postgresStore({ pool }).migrate()
  return {
    name: 'Postgres',
    create: (clock, prefix) => postgresStore({ pool, clock, prefix, ...options }),
    async text(key) {
      const { rows } = await pool.query('select record from headgate where key = $1', [key])
      return rows[0]?.record ?? undefined
    },
  }
}

export async function clusterWorker(): Promise<ServerStore> {
  cluster.setMaxListeners(0) // a store for each test
  const worker = await useServer(startWorker())
  return {
    name: 'a worker of a cluster',
    create(clock, name) {
      clusterStore({ name, clock })
      return worker.store(name)
    },
    usesArrivalTime: true,
  }
}
