import { test } from 'vitest'
import { memoryStore } from '../../src/index.ts'
import { kinds, playMany } from './play.ts'

/** model.long.test.ts plays many more. */
test.each(kinds.map((kind) => [kind.name, kind] as const))('%s: every answer is that of the model', async (_, kind) => {
  let time = 1
  const store = () => memoryStore({ clock: () => time })
  await playMany(store, (micros) => (time = micros), kind, 20, 1)
})
