import type { Clock } from '../../clock.ts'

/** Keys that this process remembers something of at most; then the oldest give way. */
const mostKeys = 10_000

/** Something that holds from one time of the local clock until another. */
export interface Passing {
  readonly from: number
  readonly until: number
}

/** What a process knows of keys without asking, as long as nothing done here changes them. */
export class Local<Known extends Passing> {
  readonly #clock: Clock
  readonly #ofOne = new Map<string, Known>()
  /** Of several keys together: any change of any key forgets all of these. */
  readonly #ofSeveral = new Map<string, Known>()
  /** Counts the changes: what was asked before one must not be noted after it. */
  changes = 0

  constructor(clock: Clock) {
    this.#clock = clock
  }

  /** What is known of a call with these keys now. */
  find(keys: readonly string[]): Known | undefined {
    const known = this.#map(keys)
    if (known.size === 0) return undefined
    const name = nameOf(keys)
    const found = known.get(name)
    if (found === undefined) return undefined
    const now = this.#clock()
    if (now >= found.from && now < found.until) return found
    known.delete(name)
    return undefined
  }

  note(keys: readonly string[], found: Known): void {
    const known = this.#map(keys)
    if (known.size >= mostKeys) {
      const [oldest] = known.keys()
      known.delete(oldest as string)
    }
    known.set(nameOf(keys), found)
  }

  /** One of the keys changes otherwise than by a call that is admitted. */
  forget(keys: readonly string[]): void {
    this.changes++
    for (const key of keys) this.#ofOne.delete(key)
    this.#ofSeveral.clear()
  }

  #map(keys: readonly string[]): Map<string, Known> {
    return keys.length === 1 ? this.#ofOne : this.#ofSeveral
  }
}

/** No key of a state has a line end in it. */
function nameOf(keys: readonly string[]): string {
  return keys.length === 1 ? (keys[0] as string) : keys.join('\n')
}
