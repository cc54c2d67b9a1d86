import { memoryStore } from '../../src/index.ts'
import { describeLaws } from '../support/laws.ts'
import { describePlanLaws } from '../support/plan-laws.ts'
import { describeSettlementLaws } from '../support/settlement-laws.ts'

describeLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 600 })
/** LAW_RUNS=10000 plays as many timelines for each law: some ten minutes. */
describeSettlementLaws('memory', (clock) => memoryStore({ clock }), { numRuns: Number(process.env.LAW_RUNS ?? 1500) })
describePlanLaws('memory', (clock) => memoryStore({ clock }), { numRuns: Number(process.env.LAW_RUNS ?? 20_000) })
