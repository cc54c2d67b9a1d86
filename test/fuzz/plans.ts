import { memoryStore } from '../../src/index.ts'
import { playWorld } from '../model/plan-laws.ts'
import { worldKinds } from '../model/worlds.ts'
import { pick, type Target } from './target.ts'

/** Every answer of a limiter with random plans comes true. */
export const plans: Target = {
  name: 'plans',
  async run(random) {
    await playWorld({ create: (clock) => memoryStore({ clock }), kind: pick(random, worldKinds), scripts: 1 }, random)
  },
}
