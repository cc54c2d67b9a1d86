/* Every store but Redis, with random scripts at full depth: three of them a day, and in depth all. */
import { lruStore } from '../../src/stores/lru-store.ts'
import { sampled } from '../support/depth.ts'
import { MapDatabase } from '../support/map-store.ts'
import { clusterWorker, memcached, postgres } from '../support/server-stores.ts'
import { sqliteClient, sqliteDatabase } from '../support/sqlite.ts'
import { describeWholeStore, type WholeStore } from '../support/whole-store.ts'

const database = new MapDatabase()

const stores: readonly WholeStore[] = [
  {
    name: 'compare-and-set',
    create: (clock, prefix) => database.store({ clock, prefix }),
    text: async (key) => database.texts.get(key)?.text,
    runs: 200,
  },
  { name: 'lru', create: (clock) => lruStore({ clock, maxKeys: 1000 }), runs: 100 },
  { ...(await clusterWorker()), runs: 60 },
  { ...(await memcached()), runs: 100 },
  { ...(await postgres()), runs: 30 },
  { ...sqliteDatabase(), runs: 60 },
  { ...sqliteClient(), runs: 30 },
]
for (const store of sampled(stores, 3)) describeWholeStore(store)
