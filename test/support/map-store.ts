import { setImmediate as turn } from 'node:timers/promises'
import type { Store } from '../../src/index.ts'
import { type CompareAndSetOptions, compareAndSetStore } from '../../src/store.ts'

/** Texts with revisions, as a database keeps them. Several stores can share it, as several processes would. */
export class MapDatabase {
  readonly texts = new Map<string, { text: string; revision: number; ttl: number }>()
  reads = 0
  swaps = 0
  readonly #delay: () => Promise<unknown>

  /** @param delay what each read and each swap awaits first. Default: a turn of the event loop */
  constructor(delay: () => Promise<unknown> = turn) {
    this.#delay = delay
  }

  /** Called before each swap, so that a test can write first, fail or wait. */
  before: (key: string) => unknown = () => {}

  async read(key: string) {
    this.reads++
    await this.#delay()
    const found = this.texts.get(key)
    return found && { text: found.text, version: found.revision }
  }

  async swap(key: string, text: string, version: number | undefined, ttl: number): Promise<boolean> {
    this.swaps++
    await this.#delay()
    await this.before(key)
    if (this.texts.get(key)?.revision !== version) return false
    this.texts.set(key, { text, revision: (version ?? 0) + 1, ttl })
    return true
  }

  store(options: Partial<CompareAndSetOptions<number>> = {}): Store {
    return compareAndSetStore<number>({
      read: (key) => this.read(key),
      swap: (...swap) => this.swap(...swap),
      timeout: '10s',
      ...options,
    })
  }
}
