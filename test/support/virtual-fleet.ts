/*
 * Processes in one event queue on a virtual clock. They share one exact store in memory, some network away. A process may
 * stand still, end and start anew, and the server may stand still: then calls time out, and it executes them later.
 */
import TinyQueue from 'tinyqueue'
import type { Sleeper } from '../../src/common/sleeper.ts'
import { HeadgateError, memoryStore, RateLimiter, type RateLimiterOptions, type Store } from '../../src/index.ts'
import { withFailover } from '../../src/store.ts'
import { ShareStore } from '../../src/stores/shares/share-store.ts'
import { seededRandom } from './seeded-random.ts'

interface Event {
  readonly time: number
  /** Events of one time happen in their order, as commands of one connection do. */
  readonly order: number
  readonly run: () => void
}

export interface FleetTerms {
  readonly policies: RateLimiterOptions['policies']
  readonly processes: number
  /** In milliseconds, of all or of each; undefined for decisions by the store itself. */
  readonly period: number | readonly number[] | undefined
  /** The round trip of a process to the store, in milliseconds. */
  readonly roundTrip: (process: number) => number
  /** In milliseconds. Default: a call waits for as long as it takes. */
  readonly timeout?: number
  /** How many processes the user says there are. Default: as many as there are. */
  readonly instances?: number
  /** By how many milliseconds the clock of a process is ahead. Default 0. */
  readonly ahead?: (process: number) => number
}

interface Process {
  /** Until when it stands still. */
  wakes: number
  ended: boolean
  limiter: RateLimiter | undefined
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
  readonly #events = new TinyQueue<Event>([], (a, b) => a.time - b.time || a.order - b.order)
  #order = 0
  readonly #terms: FleetTerms
  readonly #exact: Store
  /** The processes that run, by their place. One starts with its first request. */
  readonly #running: (Process | undefined)[] = []
  /** Until when the server stands still. */
  #serverWakes = 0
  /** When the store took a decision: an answer that reaches a process late admits nothing late. */
  readonly #decidedAt = new WeakMap<object, number>()
  readonly outcome: Outcome = { admitted: [], by: [], refused: 0, calls: 0 }

  constructor(terms: FleetTerms) {
    this.#terms = terms
    this.#exact = countsReportsOnce(shared(memoryStore({ clock: () => this.now })))
    for (let process = 0; process < terms.processes; process++) this.#start(process)
  }

  #start(place: number): Process {
    const { policies, period, roundTrip, processes, instances = processes, ahead = () => 0 } = this.#terms
    const process: Process = { wakes: 0, ended: false, limiter: undefined }
    const remote = this.#behind(this.#exact, roundTrip(place), process)
    const own = typeof period === 'object' ? period[place] : period
    const store =
      own === undefined
        ? remote
        : new ShareStore(remote, own, instances, () => this.now + ahead(place) * 1000, this.#sleeper(process))
    process.limiter = new RateLimiter({
      name: 'fleet',
      policies,
      store,
      storeTimeout: Infinity,
      onStoreError: 'throw',
      instances,
    })
    this.#running[place] = process
    return process
  }

  /** How many processes have ended. */
  ended = 0

  /** Ends the process at that place at once. The next request there starts another one. */
  end(place: number): void {
    const process = this.#running[place]
    if (process === undefined) return
    process.ended = true
    this.ended++
    this.#running[place] = undefined
  }

  /** Lets a process, or the server, stand still for so many milliseconds from now on. */
  stall(place: number | 'server', milliseconds: number): void {
    const until = this.now + milliseconds * 1000
    const process = place === 'server' ? undefined : this.#running[place]
    if (place === 'server') this.#serverWakes = Math.max(this.#serverWakes, until)
    else if (process !== undefined) process.wakes = Math.max(process.wakes, until)
  }

  #sleeper(process: Process): Sleeper {
    return (milliseconds, wake) => {
      let awake = true
      this.#in(process, this.now + milliseconds * 1000, () => awake && wake())
      return () => {
        awake = false
      }
    }
  }

  /** Runs it in a process: later if that stands still, and never if it has ended. */
  #in(process: Process, time: number, run: () => void): void {
    this.at(time, () => {
      if (process.ended) return
      if (process.wakes > this.now) this.#in(process, process.wakes, run)
      else run()
    })
  }

  /** Runs it in the server: later if that stands still. */
  #inServer(time: number, run: () => void): void {
    this.at(time, () => {
      if (this.#serverWakes > this.now) this.#inServer(this.#serverWakes, run)
      else run()
    })
  }

  at(time: number, run: () => void): void {
    this.#events.push({ time: Math.round(time), order: this.#order++, run })
  }

  /** The store, so far away that a call takes that long. */
  #behind(store: Store, roundTrip: number, process: Process): Store {
    const { timeout } = this.#terms
    const far = <T>(call: () => T) =>
      new Promise<Awaited<T>>((resolve, reject) => {
        const error = new HeadgateError('HEADGATE_STORE_TIMEOUT', 'no answer in time')
        if (timeout !== undefined) this.#in(process, this.now + timeout * 1000, () => reject(error))
        this.#inServer(this.now + roundTrip * 500, () => {
          this.outcome.calls++
          Promise.resolve(call()).then((result) => {
            if (typeof result === 'object' && result !== null) this.#decidedAt.set(result, this.now)
            this.#in(process, this.now + roundTrip * 500, () => resolve(result))
          }, reject)
        })
      })
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
    this.at(start + time * 1000, () => this.requestNow(process, key, cost))
  }

  /** Runs it at that time, in milliseconds from the start. */
  atMillisecond(time: number, run: () => void): void {
    this.at(start + time * 1000, run)
  }

  requestNow(place: number, key = 'k', cost = 1): void {
    const process = this.#running[place] ?? this.#start(place)
    this.#in(process, this.now, async () => {
      const decision = await (process.limiter as RateLimiter).consume(key, { cost }).catch(() => ({ allowed: false }))
      const { allowed } = decision
      const at = this.#decidedAt.get(decision) ?? this.now
      const { admitted, by } = this.outcome
      if (key === 'other') return
      if (!allowed) this.outcome.refused++
      else {
        for (let n = 0; n < cost; n++) admitted.push((at - start) / 1000)
        by[place] = (by[place] ?? 0) + cost
      }
    })
  }

  /** The units of the key that the store has counted. */
  async used(key = 'k'): Promise<number> {
    const { policies } = this.#terms
    const exact = new RateLimiter({ name: 'fleet', policies, store: this.#exact })
    return (await exact.peek(key)).policies[0]?.used as number
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

/** What redisStore does with the number of a report. */
function countsReportsOnce(store: Store): Store {
  const last = new Map<string, number>()
  return {
    synchronous: true,
    open(terms) {
      const ledger = store.open(terms)
      return {
        run(command) {
          const { report, keys, costs } = command
          if (report === undefined) return ledger.run(command)
          const id = JSON.stringify([report.by, keys])
          const again = report.number <= (last.get(id) ?? 0)
          if (again) return ledger.run({ ...command, costs: (costs as readonly number[]).map(() => 0) })
          last.set(id, report.number)
          return ledger.run(command)
        },
      }
    },
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

/** The most units in any window of that length, in milliseconds. Times are compared in whole microseconds. */
export function mostIn(times: readonly number[], window: number): number {
  const sorted = times.toSorted((a, b) => a - b)
  let first = 0
  let most = 0
  for (let last = 0; last < sorted.length; last++) {
    while (Math.round(1000 * ((sorted[last] as number) - (sorted[first] as number))) >= 1000 * window) first++
    most = Math.max(most, last - first + 1)
  }
  return most
}

/** By how many units calls at these times go beyond a bucket. It counts in whole microseconds and millionths of a unit. */
export function beyondBucket(times: readonly number[], burst: number, perMillisecond: number): number {
  const [unit, perMicrosecond] = [1_000_000, Math.round(perMillisecond * 1000)]
  let level = 0
  let last = 0
  let most = 0
  for (const time of times.map((each) => Math.round(each * 1000)).sort((a, b) => a - b)) {
    level = Math.max(0, level - (time - last) * perMicrosecond) + unit
    last = time
    most = Math.max(most, level)
  }
  return Math.max(0, Math.ceil((most - burst * unit) / unit))
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
