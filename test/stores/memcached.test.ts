import { memcached } from '../support/server-stores.ts'
import { describeWholeStore } from '../support/whole-store.ts'

describeWholeStore({ ...(await memcached()), runs: 8, quick: true })
