import cluster from 'node:cluster'
import { afterAll, beforeAll } from 'vitest'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { type ProxyWorker, startWorker } from '../support/cluster-proxy.ts'
import { describeWholeStore } from '../support/whole-store.ts'

let worker: ProxyWorker

beforeAll(async () => {
  cluster.setMaxListeners(0) // a store for each test
  worker = await startWorker()
})

afterAll(() => worker.stop())

describeWholeStore({
  name: 'a worker of a cluster',
  create(clock, name) {
    clusterStore({ name, clock })
    return worker.store(name)
  },
  arrives: true,
  runs: 60,
})
