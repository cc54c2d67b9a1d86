/* Three faults of different kinds. All of them run in faults.long.test.ts. */
import { testFaults, testScriptFlush } from './faults.ts'

testFaults(['hung: accepts and never replies', 'killed and restarted, empty', 'a network that cuts'])
testScriptFlush()
