/* Windows of a calendar, on every store that needs no server. */

import { monotonicClock } from '../../src/common/index.ts'
import { lruStore, memoryStore } from '../../src/index.ts'
import { describeCalendars } from '../support/calendar-laws.ts'
import { MapDatabase } from '../support/map-store.ts'
import { sqliteClient, sqliteDatabase } from '../support/sqlite.ts'

/** It does not change when a test sets the clock of the caller. */
const storeTime = async () => monotonicClock() / 1000

describeCalendars({ name: 'memory', create: (clock) => memoryStore(clock && { clock }), storeTime })
describeCalendars({ name: 'lru', create: (clock) => lruStore(clock && { clock }), storeTime })
const database = new MapDatabase()
describeCalendars({
  name: 'compare-and-set',
  create: (clock, prefix) => database.store({ prefix, ...(clock && { clock }) }),
  shared: true,
})
for (const subject of [sqliteDatabase(), sqliteClient()]) {
  describeCalendars({ ...subject, create: (clock = () => Date.now() * 1000, prefix) => subject.create(clock, prefix) })
}
