/** Random calls with lists of costs, reservations and settlements, against a model that shares no code with the project. */
import { lruStore, memoryStore, type Store } from '../../src/index.ts'
import { testCostListModel } from '../support/cost-list-model.ts'
import { rounds } from '../support/depth.ts'
import { MapDatabase } from '../support/map-store.ts'
import { sqliteDatabase } from '../support/sqlite.ts'

const sqlite = sqliteDatabase()
let tables = 0

// In depth, 100,000 calls on each store: 400 runs of 250.
testCostListModel('memoryStore', (clock) => memoryStore({ clock }), rounds(40, 400))
testCostListModel('lruStore', (clock) => lruStore({ clock }), rounds(20, 400))
testCostListModel('compareAndSetStore', (clock) => new MapDatabase().store({ clock }), rounds(8, 400))
testCostListModel('sqliteStore', (clock) => sqlite.create(clock, `m${++tables}`) as Store, rounds(8, 400))
