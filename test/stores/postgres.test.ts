import { postgres } from '../support/server-stores.ts'
import { describeWholeStore } from '../support/whole-store.ts'

describeWholeStore({ ...(await postgres()), runs: 3, quick: true })
