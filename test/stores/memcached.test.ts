import { MemcacheClient } from 'memcache-client'
import { afterAll, beforeAll } from 'vitest'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { type MemcachedServer, startMemcached } from '../support/memcached-server.ts'
import { describeWholeStore } from '../support/whole-store.ts'

let server: MemcachedServer
let client: MemcacheClient

beforeAll(async () => {
  server = await startMemcached()
  client = clientOf(server.port)
})

afterAll(async () => {
  client.shutdown()
  await server.stop()
})

function clientOf(port: number): MemcacheClient {
  return new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
}

describeWholeStore({
  name: 'Memcached',
  create: (clock, prefix) => memcachedStore({ client, clock, prefix, ttlMargin: '1d', timeout: '10s' }),
  text: async (key) => (await client.gets<string>(key))?.value,
  runs: 100,
})
