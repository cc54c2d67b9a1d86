/*
 * Processes in one event queue on a virtual clock. They share one exact store in memory, some network away.
 */
import TinyQueue from 'tinyqueue'
import { memoryStore, RateLimiter, type RateLimiterOptions, type Store } from '../../src/index.ts'
import type { Sleeper } from '../../src/sleeper.ts'
import { withFailover } from '../../src/store.ts'
import { OptimisticStore } from '../../src/stores/optimistic/optimistic-store.ts'
import { seededRandom } from './seeded-random.ts'

interface Event {
  readonly time: number
  readonly run: () => void
}

export interface FleetTerms {
  readonly policies: RateLimiterOptions['policies']
  readonly processes: number
  /** In milliseconds, of all or of each; undefined for decisions by the store itself. */
  readonly period: number | readonly number[] | undefined
  /** The round trip of a process to the store, in milliseconds. */
  readonly roundTrip: (process: number) => number
}

/** What a fleet did with the requests of one key. */
export interface Outcome {
  /** When units were admitted, in milliseconds from the start. */
  readonly admitted: number[]
  /** How many each process admitted. */
  readonly by: number[]
  refused: number
  /** Calls of the exact store. */
  calls: number
}

const start = 1_767_225_600_000_000

export class VirtualFleet {
  now = start
  readonly #events = new TinyQueue<Event>([], (a, b) => a.time - b.time)
  readonly #limiters: RateLimiter[]
  readonly outcome: Outcome = { admitted: [], by: [], refused: 0, calls: 0 }

  constructor({ policies, processes, period, roundTrip }: FleetTerms) {
    const clock = () => this.now
    const exact = shared(memoryStore({ clock }))
    this.#limiters = Array.from({ length: processes }, (_, process) => {
      const remote = this.#behind(exact, roundTrip(process))
      const own = typeof period === 'object' ? period[process] : period
      const store = own === undefined ? remote : new OptimisticStore(remote, own, clock, this.#sleeper)
      return new RateLimiter({ name: 'fleet', policies, store, storeTimeout: Infinity, onStoreError: 'throw' })
    })
  }

  readonly #sleeper: Sleeper = (milliseconds, wake) => {
    let awake = true
    this.at(this.now + milliseconds * 1000, () => awake && wake())
    return () => {
      awake = false
    }
  }

  at(time: number, run: () => void): void {
    this.#events.push({ time: Math.round(time), run })
  }

  /** The store, so far away that a call takes that long. */
  #behind(store: Store, roundTrip: number): Store {
    const half = () => new Promise<void>((resolve) => this.at(this.now + roundTrip * 500, resolve))
    const far = async <T>(call: () => T): Promise<Awaited<T>> => {
      await half()
      this.outcome.calls++
      const result = await call()
      await half()
      return result
    }
    return {
      synchronous: false,
      open(terms, joins) {
        return withFailover(this, terms, joins, (bare) => {
          const ledger = store.open(bare)
          return { run: (command) => far(() => ledger.run(command)) }
        })
      },
    }
  }

  /** Sends a request to a process at that time, in milliseconds from the start. */
  request(time: number, process: number, key = 'k', cost = 1): void {
    this.at(start + time * 1000, async () => {
      const { allowed } = await (this.#limiters[process] as RateLimiter).consume(key, { cost })
      const { admitted, by } = this.outcome
      if (!allowed) this.outcome.refused++
      else {
        for (let n = 0; n < cost; n++) admitted.push((this.now - start) / 1000)
        by[process] = (by[process] ?? 0) + cost
      }
    })
  }

  /** Lets everything happen until that time, in milliseconds from the start. */
  async until(time: number): Promise<void> {
    const end = start + time * 1000
    for (;;) {
      const next = this.#events.peek()
      if (next === undefined || next.time > end) return
      this.now = next.time
      while (this.#events.peek()?.time === this.now) (this.#events.pop() as Event).run()
      await new Promise((resolve) => setImmediate(resolve))
    }
  }
}

/** Opening a name again opens the same states, as in a store that processes share. */
function shared(store: Store): Store {
  const opened = new Map<string, ReturnType<Store['open']>>()
  return {
    synchronous: true,
    open(terms) {
      const ledger = store.open(terms, opened.get(terms.name))
      opened.set(terms.name, ledger)
      return ledger
    },
  }
}

/** The most units in any window of that length, in milliseconds. */
export function mostIn(times: readonly number[], window: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  let first = 0
  let most = 0
  for (let last = 0; last < sorted.length; last++) {
    while ((sorted[last] as number) - (sorted[first] as number) >= window) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** By how many units calls at these times go beyond a bucket. */
export function beyondBucket(times: readonly number[], burst: number, perMillisecond: number): number {
  let level = 0
  let last = 0
  let most = 0
  for (const time of times.toSorted((a, b) => a - b)) {
    level = Math.max(0, level - (time - last) * perMillisecond) + 1
    last = time
    most = Math.max(most, level)
  }
  return Math.max(0, Math.ceil(most - burst))
}

export interface Load {
  /** Requests a second. */
  readonly rate: number
  /** In milliseconds from the start. */
  readonly from?: number
  readonly until: number
  /** How much of it comes to each process. */
  readonly weights: readonly number[]
  /** Of each request. */
  readonly cost?: number
  readonly seed?: number
}

/** Requests at random times. */
export function poisson(fleet: VirtualFleet, { rate, from = 0, until, weights, cost = 1, seed = 7 }: Load): void {
  const draw = seededRandom(seed)
  const random = () => draw(2 ** 31) / 2 ** 31
  const all = weights.reduce((sum, weight) => sum + weight)
  for (let time = from; time < until; time += (-Math.log(1 - random()) * 1000) / rate) {
    let left = random() * all
    const process = weights.findIndex((weight) => {
      left -= weight
      return left < 0
    })
    fleet.request(time, Math.max(0, process), 'k', cost)
  }
}
