import { describe, test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { playWorlds } from './plan-laws.ts'
import { kinds, playMany } from './play.ts'
import { localStores } from './stores.ts'
import { worldKinds } from './worlds.ts'

// model.long.test.ts plays many more.

test.each(kinds.map((kind) => [kind.name, kind] as const))('%s: every answer is that of the model', async (_, kind) => {
  let time = 1
  const store = () => memoryStore({ clock: () => time })
  await playMany(store, (micros) => (time = micros), kind, 8, 1)
})

describe.each(Object.entries(localStores))('under plans on %s, every answer comes true', (_, create) => {
  test.each(worldKinds.map((kind) => [kind.name, kind] as const))('%s', (_, kind) =>
    playWorlds({ create, kind }, 800, 1),
  )
})
