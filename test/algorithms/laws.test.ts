import { memoryStore } from '../../src/index.ts'
import { describeLaws } from '../support/laws.ts'
import { describeSettlementLaws } from '../support/settlement-laws.ts'

/** laws.long.test.ts tries ten times as many timelines. */
describeLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 60 })
describeSettlementLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 100 })
