import { postgres } from '../support/server-stores.ts'
import { describeWholeStore } from '../support/whole-store.ts'

describeWholeStore({ ...(await postgres()), runs: 5, quick: true })
