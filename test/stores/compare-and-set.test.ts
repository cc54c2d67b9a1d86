import { MapDatabase } from '../support/map-store.ts'
import { describeTwoClocks } from '../support/two-clocks.ts'
import { describeWholeStore } from '../support/whole-store.ts'

const database = new MapDatabase()

describeWholeStore({
  name: 'compare-and-set',
  create: (clock, prefix) => database.store({ clock, prefix }),
  text: async (key) => database.texts.get(key)?.text,
  runs: 3,
  quick: true,
})

describeTwoClocks('compare-and-set', (clock, prefix) => database.store({ clock, prefix }))
