/* One fault. All of them run in faults.long.test.ts. */
import { testFaults, testScriptFlush } from './faults.ts'

testFaults(['killed and restarted, empty'])
testScriptFlush()
