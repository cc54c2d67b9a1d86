import { wallClock } from '../common/index.ts'
import type { Overrides, OverrideTable } from '../overrides/index.ts'
import type { Store } from '../stores/contract/index.ts'

/** The stores that were closed: their documents are not read any more. */
const closed = new WeakSet<Store>()

/** The overrides of the limiters with one name. Their code is loaded when it is needed, because most programs have no overrides. */
export class LoadedOverrides {
  /** The overrides that there are now; undefined if there are none. */
  table: OverrideTable | undefined
  readonly #store: Store
  readonly #name: string
  #loading: Promise<Overrides> | undefined
  #loaded: Overrides | undefined
  /** When the code could not be loaded, in milliseconds since the epoch. */
  #failedAt: number | undefined

  constructor(store: Store, name: string) {
    this.#store = store
    this.#name = name
  }

  /** Since when this process cannot read the overrides, in milliseconds since the epoch; undefined if it can. */
  get unreadSince(): number | undefined {
    return this.#failedAt ?? this.#loaded?.unreadSince
  }

  /** Starts to read the overrides, if other processes can write some. */
  start(): void {
    if (this.#store.documents === undefined) return
    this.load().catch(() => {
      this.#failedAt = Math.floor(wallClock() / 1000)
    })
  }

  load(): Promise<Overrides> {
    this.#loading ??= import('../overrides/index.ts').then(({ Overrides }) => {
      this.#loaded = new Overrides(this.#store, this.#name, (table) => {
        this.table = table
      })
      if (closed.has(this.#store)) this.#loaded.close()
      return this.#loaded
    })
    return this.#loading
  }

  close(): void {
    closed.add(this.#store)
    this.#loaded?.close()
  }
}
