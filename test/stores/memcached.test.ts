import { memcached } from '../support/server-stores.ts'
import { describeTwoClocks } from '../support/two-clocks.ts'
import { describeWholeStore } from '../support/whole-store.ts'

const store = await memcached()

describeWholeStore({ ...store, runs: 3, quick: true })
describeTwoClocks(store.name, store.create)
