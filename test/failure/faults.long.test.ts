import { faults, testFaults } from './faults.ts'

testFaults(Object.keys(faults))
