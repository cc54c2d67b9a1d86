import type { Policy } from '../algorithms/algorithm.ts'
import type { KeyPacer } from './key-pacer.ts'
import { Pace } from './pace.ts'

/** The queue of one key, which is looked up at each call: it may have been forgotten in between. */
export class KeyPace extends Pace {
  readonly policies: readonly Policy[]
  protected readonly keyPacer: () => KeyPacer

  constructor(policies: readonly Policy[], keyPacer: () => KeyPacer) {
    super()
    this.policies = policies
    this.keyPacer = keyPacer
  }
}
