/*
 * The objects that gauges read: how many calls of each limiter are in flight (admitted and not finished) or wait, the pacers, and the
 * stores that have had a call. The references to these objects are weak, so that metrics do not keep an object in memory.
 */
import { wallClock } from '../common/index.ts'
import { breakersOf } from '../failure/index.ts'
import type { CalledLimiter, Load } from '../limiter/index.ts'
import { overridesOn, type UsedOverrides } from '../overrides/used-overrides.ts'
import type { Store } from '../stores/contract/index.ts'
import type { Attributes, Reading } from './decision-counts.ts'

/** The members of a pacer that gauges read. */
export interface LivePacer {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly store: Store
}

/** The most limiter names, pacer names and shards with a separate gauge. All others share one gauge with the name `other`. */
export const maxNames = 250

const levels = { closed: 0, 'half-open': 1, open: 2 } as const

/** A list of weak references: an object leaves the list when no other part of the program refers to it. */
class WeakList<T extends WeakKey> {
  readonly #known = new WeakSet<T>()
  #references: WeakRef<T>[] = []

  add(object: T): void {
    if (this.#known.has(object)) return
    this.#known.add(object)
    this.#references.push(new WeakRef(object))
    // Dead references are removed here each time the list is about to double: if metrics are never collected, nothing else removes
    // them.
    if ((this.#references.length & (this.#references.length - 1)) === 0) void this.all()
  }

  all(): readonly T[] {
    const live = this.#references.map((reference) => [reference, reference.deref()] as const)
    this.#references = live.filter(([, object]) => object !== undefined).map(([reference]) => reference)
    return live.map(([, object]) => object).filter((object) => object !== undefined)
  }
}

export class LiveObjects {
  readonly #loads = new WeakList<Readonly<Load>>()
  readonly #names = new WeakMap<Readonly<Load>, string>()
  readonly #pacers = new WeakList<LivePacer>()
  readonly #stores = new WeakList<Store>()
  /**
   * How many keys each store had evicted when metrics were last collected. `#evictions` is the sum over all stores, including
   * stores that were garbage-collected.
   */
  readonly #evicted = new WeakMap<Store, number>()
  #evictions = 0
  #lastLoad: Readonly<Load> | undefined
  #lastPacer: LivePacer | undefined

  limiterCalled({ name, load, store }: CalledLimiter): void {
    if (load === this.#lastLoad) return
    this.#lastLoad = load
    if (this.#names.has(load)) return
    this.#names.set(load, name)
    this.#loads.add(load)
    this.#stores.add(store)
  }

  pacerCalled(pacer: LivePacer): void {
    if (pacer === this.#lastPacer) return
    this.#lastPacer = pacer
    this.#pacers.add(pacer)
    this.#stores.add(pacer.store)
  }

  inFlight(): readonly Reading[] {
    return this.#byName(
      (load) => load.inFlight,
      (pacer) => pacer.running,
    )
  }

  waiting(): readonly Reading[] {
    return this.#byName(
      (load) => load.waiting,
      (pacer) => pacer.waiting,
    )
  }

  #byName(ofLoad: (load: Readonly<Load>) => number, ofPacer: (pacer: LivePacer) => number): readonly Reading[] {
    return joined([
      ...this.#loads.all().map((load) => [ofLoad(load), { limiter: this.#names.get(load) as string }] as const),
      ...this.#pacers.all().map((pacer) => [ofPacer(pacer), { limiter: pacer.name }] as const),
    ])
  }

  /** The state of the breakers. For breakers with the same attributes, the result is the worst of their states. */
  breakers(): readonly Reading[] {
    const states = this.#stores.all().flatMap((store) =>
      [...breakersOf(store)].map(([shard, { state }]): Reading => {
        return [levels[state], { ...kindOf(store), ...(shard !== undefined && { shard }) }]
      }),
    )
    return joined(states, Math.max)
  }

  /** How many overrides each limiter has. A limiter that has had no override, and reads none from its store, has no reading. */
  overrides(): readonly Reading[] {
    return this.#ofOverrides(({ count }) => count)
  }

  /** For how many seconds the overrides of each limiter could not be read. */
  overridesUnread(): readonly Reading[] {
    const now = wallClock() / 1000
    return this.#ofOverrides(({ unreadSince = now }) => Math.max(0, now - unreadSince) / 1000)
  }

  /** Limiters with one name have the same overrides, so their readings are joined by the largest value. */
  #ofOverrides(read: (overrides: UsedOverrides) => number): readonly Reading[] {
    const readings = this.#stores
      .all()
      .flatMap((store) => [...overridesOn(store)].map(([limiter, used]): Reading => [read(used), { limiter }]))
    return joined(readings, Math.max)
  }

  keys(): readonly Reading[] {
    const memory = this.#stores.all().filter(hasStats)
    return joined(memory.map((store) => [store.stats().keys, kindOf(store)]))
  }

  /** The evictions of all stores. The sum never falls, although a store may be garbage-collected before metrics are collected again. */
  evictions(): readonly Reading[] {
    const memory = this.#stores.all().filter(hasStats)
    for (const store of memory) {
      const { evictions } = store.stats()
      this.#evictions += Math.max(0, evictions - (this.#evicted.get(store) ?? 0))
      this.#evicted.set(store, evictions)
    }
    return memory.length > 0 || this.#evictions > 0 ? [[this.#evictions, { store: 'memory' }]] : []
  }
}

/** Combines readings with the same attributes into one reading, by default by addition. */
function joined(readings: readonly Reading[], join = (a: number, b: number): number => a + b): readonly Reading[] {
  const byId = new Map<string, Reading>()
  for (const [value, attributes] of readings) {
    const isOther = byId.size >= maxNames && !byId.has(JSON.stringify(attributes))
    const named = isOther ? Object.fromEntries(Object.keys(attributes).map((name) => [name, 'other'])) : attributes
    const id = JSON.stringify(named)
    const known = byId.get(id)
    byId.set(id, [known === undefined ? value : join(known[0], value), named])
  }
  return [...byId.values()]
}

function kindOf({ traits }: Store): Attributes {
  return { store: traits?.kind ?? 'other' }
}

interface WithStats extends Store {
  stats(): { readonly keys: number; readonly evictions: number }
}

/** True if the store has the statistics of this package. A store that a user wrote may have other statistics. */
function hasStats(store: Store): store is WithStats {
  return store.traits?.kind === 'memory' && typeof Reflect.get(store, 'stats') === 'function'
}
