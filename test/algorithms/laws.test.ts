import { memoryStore } from '../../src/index.ts'
import { describeLaws } from '../support/laws.ts'

/** laws.long.test.ts tries ten times as many timelines. */
describeLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 60 })
