/* Thresholds on Postgres, on Memcached, and in a worker of a cluster. test/stores/redis/thresholds.test.ts has Redis. */
import { clusterWorker, memcached, postgres } from '../support/server-stores.ts'
import { describeThresholds } from '../support/thresholds.ts'

let prefixes = 0
for (const { name, create } of [await postgres(), await memcached(), await clusterWorker()]) {
  describeThresholds(name, ({ now }) => create(now, `told-${prefixes++}`), 10)
}
