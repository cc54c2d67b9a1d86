import { wallClock } from '../common/index.ts'
import type { Overrides, OverrideTable } from '../overrides/index.ts'
import type { Store } from '../stores/contract/index.ts'
import type { Load } from './limiter-events.ts'

/** The stores that were closed. The documents of a closed store are not read any more. */
const closed = new WeakSet<Store>()

const loadedBy = new WeakMap<Readonly<Load>, LoadedOverrides>()

/** The overrides of the limiters with this load. Undefined if these limiters have had no override and read none. */
export function overridesOf(load: Readonly<Load>): LoadedOverrides | undefined {
  return loadedBy.get(load)
}

/** The overrides of all limiters with one name. The code of overrides is loaded at its first use, because most programs have no overrides. */
export class LoadedOverrides {
  /** The overrides that apply now. Undefined if there are no overrides. */
  table: OverrideTable | undefined
  readonly #store: Store
  readonly #name: string
  readonly #load: Readonly<Load>
  #loading: Promise<Overrides> | undefined
  #loaded: Overrides | undefined
  /** When the code could not be loaded, in milliseconds since the epoch. */
  #failedAt: number | undefined

  /** @param load the load of these limiters, by which `overridesOf` finds this object */
  constructor(store: Store, name: string, load: Readonly<Load>) {
    this.#store = store
    this.#name = name
    this.#load = load
  }

  /** How many overrides this process uses that have not ended. */
  get count(): number {
    return this.#loaded?.count ?? 0
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
    loadedBy.set(this.#load, this)
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
