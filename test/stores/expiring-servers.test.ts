/* Reservations that expire, on the other stores with a server or another process. */
import { Cluster } from 'ioredis'
import { afterAll } from 'vitest'
import { redisStore } from '../../src/stores/redis/index.ts'
import { describeExpiring } from '../support/expiring.ts'
import { type RedisServer, startCluster } from '../support/redis-server.ts'
import { clusterWorker, memcached, postgres } from '../support/server-stores.ts'
import { useServer } from '../support/use-server.ts'

const { nodes } = await useServer(startCluster())
const client = new Cluster([{ host: '127.0.0.1', port: (nodes[0] as RedisServer).port }])
client.on('error', () => {})
afterAll(() => client.disconnect())
describeExpiring('Redis Cluster', (clock) => redisStore({ client, timeout: '10s', clock: clock.now }))

let stores = 0
for (const { name, create } of [await postgres(), await memcached(), await clusterWorker()]) {
  describeExpiring(name, (clock) => create(clock.now, `expiring${stores++}`))
}
