/*
 * What gauges read: the loads of limiters, the pacers and the stores that have had a call. All are held weakly, so that
 * watching keeps nothing alive.
 */
import { breakersOf } from '../failure/breaker.ts'
import type { CalledLimiter, Load } from '../limiter-events.ts'
import type { Store } from '../stores/store.ts'
import type { Attributes, Observe } from './decision-counts.ts'

/** A pacer, as far as gauges read it. */
export interface LivePacer {
  readonly name: string
  readonly waiting: number
  readonly running: number
  readonly store: Store
}

/** The most names of limiters and pacers that metrics tell apart, and the most shards. Further ones are `other`. */
export const maxNames = 250

/** A breaker's state as a number. */
const levels = { closed: 0, 'half-open': 1, open: 2 } as const

/** Objects that are listed as long as something else keeps them alive. */
class WeakList<T extends WeakKey> {
  readonly #known = new WeakSet<T>()
  #references: WeakRef<T>[] = []

  add(object: T): void {
    if (this.#known.has(object)) return
    this.#known.add(object)
    this.#references.push(new WeakRef(object))
    // Dropped before the list doubles, in case nobody collects.
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
  /** The evictions of each store when they were last read, and their sum over all stores there ever were. */
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

  observeInFlight(observe: Observe): void {
    this.#observeByName(
      (load) => load.inFlight,
      (pacer) => pacer.running,
      observe,
    )
  }

  observeWaiting(observe: Observe): void {
    this.#observeByName(
      (load) => load.waiting,
      (pacer) => pacer.waiting,
      observe,
    )
  }

  #observeByName(ofLoad: (load: Readonly<Load>) => number, ofPacer: (pacer: LivePacer) => number, to: Observe): void {
    const sums = new Sums()
    for (const load of this.#loads.all()) sums.add({ limiter: this.#names.get(load) as string }, ofLoad(load))
    for (const pacer of this.#pacers.all()) sums.add({ limiter: pacer.name }, ofPacer(pacer))
    sums.observe(to)
  }

  /** The worst state of the breakers that have the same attributes. */
  observeBreakers(observe: Observe): void {
    const sums = new Sums(Math.max)
    for (const store of this.#stores.all()) {
      for (const [shard, { state }] of breakersOf(store)) {
        sums.add(shard === undefined ? kindOf(store) : { ...kindOf(store), shard }, levels[state])
      }
    }
    sums.observe(observe)
  }

  observeKeys(observe: Observe): void {
    const sums = new Sums()
    for (const store of this.#stores.all()) if (hasStats(store)) sums.add(kindOf(store), store.stats().keys)
    sums.observe(observe)
  }

  /** A sum that never falls, although a store may be gone before the next reading. */
  observeEvictions(observe: Observe): void {
    const memory = this.#stores.all().filter(hasStats)
    for (const store of memory) {
      const { evictions } = store.stats()
      this.#evictions += Math.max(0, evictions - (this.#evicted.get(store) ?? 0))
      this.#evicted.set(store, evictions)
    }
    if (memory.length > 0 || this.#evictions > 0) observe(this.#evictions, { store: 'memory' })
  }
}

/** Numbers with the same attributes become one. */
class Sums {
  readonly #values = new Map<string, { attributes: Attributes; value: number }>()
  readonly #join: (a: number, b: number) => number

  constructor(join: (a: number, b: number) => number = (a, b) => a + b) {
    this.#join = join
  }

  add(attributes: Attributes, value: number): void {
    let id = JSON.stringify(attributes)
    let named = attributes
    if (!this.#values.has(id) && this.#values.size >= maxNames) {
      named = Object.fromEntries(Object.keys(attributes).map((name) => [name, 'other']))
      id = JSON.stringify(named)
    }
    const known = this.#values.get(id)
    if (known === undefined) this.#values.set(id, { attributes: named, value })
    else known.value = this.#join(known.value, value)
  }

  observe(observe: Observe): void {
    for (const { attributes, value } of this.#values.values()) observe(value, attributes)
  }
}

function kindOf({ traits }: Store): Attributes {
  return { store: traits?.kind ?? 'other' }
}

interface WithStats extends Store {
  stats(): { readonly keys: number; readonly evictions: number }
}

/** A store of the user's own may have other statistics. */
function hasStats(store: Store): store is WithStats {
  return store.traits?.kind === 'memory' && typeof Reflect.get(store, 'stats') === 'function'
}
