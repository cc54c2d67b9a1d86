import { clusterWorker } from '../support/server-stores.ts'
import { describeWholeStore } from '../support/whole-store.ts'

describeWholeStore({ ...(await clusterWorker()), runs: 3, quick: true })
