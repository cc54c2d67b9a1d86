import { isolatesRequests } from '#platform'
import { wallClock } from '../common/index.ts'
import type { Overrides, OverrideTable } from '../overrides/index.ts'
import type { Store } from '../stores/contract/index.ts'

/** The stores that were closed. The documents of a closed store are not read any more. */
const closed = new WeakSet<Store>()

/**
 * The overrides of all limiters with one name. The code of overrides is loaded at its first use, because most programs have no overrides.
 */
export class LoadedOverrides {
  #table: OverrideTable | undefined
  readonly #store: Store
  readonly #name: string
  #loading: Promise<Overrides> | undefined
  #loaded: Overrides | undefined
  /** When the code of overrides could not be loaded, in milliseconds since the epoch. Undefined if the code was loaded or is not needed. */
  #failedAt: number | undefined

  constructor(store: Store, name: string) {
    this.#store = store
    this.#name = name
  }

  /** The overrides that apply now. Undefined if there are no overrides. */
  get table(): OverrideTable | undefined {
    if (isolatesRequests) this.#loaded?.readAtCall()
    return this.#table
  }

  /** When reads of the overrides began to fail, in milliseconds since the epoch. Undefined if the last read succeeded. */
  get unreadSince(): number | undefined {
    return this.#failedAt ?? this.#loaded?.unreadSince
  }

  /** Starts to read the overrides, if the store has documents that other processes can write. */
  start(): void {
    if (this.#store.documents === undefined) return
    this.load().catch(() => {
      this.#failedAt = Math.floor(wallClock() / 1000)
    })
  }

  load(): Promise<Overrides> {
    this.#loading ??= import('../overrides/index.ts').then(({ Overrides }) => {
      this.#loaded = new Overrides(this.#store, this.#name, (table) => {
        this.#table = table
      })
      this.#failedAt = undefined
      if (closed.has(this.#store)) this.#loaded.close()
      return this.#loaded
    })
    this.#loading.catch(() => {
      this.#loading = undefined // so that the next call loads the module again
    })
    return this.#loading
  }

  close(): void {
    closed.add(this.#store)
    this.#loaded?.close()
  }
}
