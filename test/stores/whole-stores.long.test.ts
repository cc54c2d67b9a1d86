/* Every store but Redis, with random scripts at full depth. */
import { lruStore } from '../../src/stores/lru-store.ts'
import { MapDatabase } from '../support/map-store.ts'
import { clusterWorker, memcached, postgres } from '../support/server-stores.ts'
import { sqliteClient, sqliteDatabase } from '../support/sqlite.ts'
import { describeWholeStore } from '../support/whole-store.ts'

const database = new MapDatabase()

describeWholeStore({
  name: 'compare-and-set',
  create: (clock, prefix) => database.store({ clock, prefix }),
  text: async (key) => database.texts.get(key)?.text,
  runs: 200,
})
describeWholeStore({ name: 'lru', create: (clock) => lruStore({ clock, maxKeys: 1000 }), runs: 100 })
describeWholeStore({ ...(await clusterWorker()), runs: 60 })
describeWholeStore({ ...(await memcached()), runs: 100 })
describeWholeStore({ ...(await postgres()), runs: 30 })
describeWholeStore({ ...sqliteDatabase(), runs: 60 })
describeWholeStore({ ...sqliteClient(), runs: 30 })
