import { memoryStore } from '../../src/index.ts'
import { describeLaws } from '../support/laws.ts'
import { describeSettlementLaws } from '../support/settlement-laws.ts'

describeLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 600 })
describeSettlementLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 10_000 })
