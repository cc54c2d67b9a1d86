import { MemcacheClient } from 'memcache-client'
import { afterAll } from 'vitest'
import { memcachedStore } from '../../src/stores/memcached.ts'
import { startMemcached } from '../support/memcached-server.ts'
import { useServer } from '../support/use-server.ts'
import { describeWholeStore } from '../support/whole-store.ts'

const { port } = await useServer(startMemcached())
const client = new MemcacheClient({ server: `127.0.0.1:${port}`, noDelay: true, cmdTimeout: 20_000 })
afterAll(() => client.shutdown())

describeWholeStore({
  name: 'Memcached',
  create: (clock, prefix) => memcachedStore({ client, clock, prefix, ttlMargin: '1d', timeout: '10s' }),
  text: async (key) => (await client.gets<string>(key))?.value,
  runs: 100,
})
