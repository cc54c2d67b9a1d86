import { memoryStore } from '../../src/index.ts'
import { describeLaws } from '../support/laws.ts'

describeLaws('memory', (clock) => memoryStore({ clock }), { numRuns: 600 })
