import cluster from 'node:cluster'
import { clusterStore } from '../../src/stores/cluster/index.ts'
import { startWorker } from '../support/cluster-proxy.ts'
import { useServer } from '../support/use-server.ts'
import { describeWholeStore } from '../support/whole-store.ts'

cluster.setMaxListeners(0) // a store for each test
const worker = await useServer(startWorker())

describeWholeStore({
  name: 'a worker of a cluster',
  create(clock, name) {
    clusterStore({ name, clock })
    return worker.store(name)
  },
  arrives: true,
  runs: 60,
})
