import type { Policy } from '../algorithms/algorithm.ts'
import type { KeyPacer } from './key-pacer.ts'
import { Pace } from './pace.ts'

/** The queue of one key, which is looked up at each call: it may have been forgotten in between. */
export class KeyPace extends Pace {
  protected readonly keyPacer: () => KeyPacer
  readonly #pacer: Pace

  constructor(pacer: Pace, keyPacer: () => KeyPacer) {
    super()
    this.#pacer = pacer
    this.keyPacer = keyPacer
  }

  get policies(): readonly Policy[] {
    return this.#pacer.policies
  }
}
