import { memoryStore } from '../../src/index.ts'
import { describeLaws } from '../support/laws.ts'
import { describePlanLaws } from '../support/plan-laws.ts'
import { describeSettlementLaws } from '../support/settlement-laws.ts'

/** laws.long.test.ts tries thirty times as many timelines. */
describeLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 20 })
describeSettlementLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 40 })
describePlanLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 300 })
