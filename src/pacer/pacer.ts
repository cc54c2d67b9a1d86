import type { Policy } from '../algorithms/algorithm.ts'
import type { PolicyLike } from '../algorithms/shorthand.ts'
import { HeadgateError, shown } from '../errors.ts'
import type { PacerContext } from './context.ts'
import { Events, once, type Progress } from './events.ts'
import { KeyPacer } from './key-pacer.ts'
import { type PacerOptions, type PacerTerms, readOptions } from './options.ts'
import { Pace } from './pace.ts'
import { Permits } from './permits.ts'
import { Scheduler } from './scheduler.ts'

/** Keys of one pacer, and the pacer itself as one of them, in the store. */
const whole = 'all'
const each = 'key:'
/** How many lanes are looked at for each new one. */
const swept = 2

/** A limiter that waits instead of refusing. */
export class Pacer extends Pace {
  readonly name: string
  readonly #bank: Permits
  readonly #events: Events
  readonly #shop: PacerContext
  readonly #lanes = new Map<string, KeyPacer>()
  readonly #root: KeyPacer
  readonly #drained: (() => void)[] = []

  /**
   * @param what a policy, the text of one, or policies with options in one object
   * @throws HeadgateError for what is out of range
   */
  constructor(what: PolicyLike | PacerTerms, options: PacerOptions = {}) {
    super()
    const parts = readOptions(what, options)
    const { limiter, clock, sleeper, failure, onProgress, maxQueue, order, concurrency } = parts
    this.name = limiter.name
    const agenda = new Scheduler(clock, sleeper)
    this.#bank = new Permits(limiter, clock, failure)
    this.#events = new Events(this.name, onProgress && once(() => onProgress(this.progress)))
    this.#shop = {
      agenda,
      bank: this.#bank,
      events: this.#events,
      clock,
      maxQueue,
      order,
      concurrency,
      promises: this.#bank.promises,
      paused: false,
      closed: false,
      calls: 0,
      settled: (lane) => this.#settled(lane),
    }
    this.#root = new KeyPacer(this.#shop, whole)
    this.#lanes.set(whole, this.#root)
    this.#bank.begin(this.#root.keys)
  }

  protected lane(): KeyPacer {
    return this.#root
  }

  /** A queue of its own under the same policies. It takes no room once nobody waits for it. */
  key(key: string): Pace {
    if (typeof key !== 'string') {
      throw new HeadgateError('HEADGATE_KEY', `A key must be a string, got ${shown(key)}. Write pacer.key('host').`)
    }
    return new KeyPace(() => this.#lane(each + key))
  }

  #lane(key: string): KeyPacer {
    let lane = this.#lanes.get(key)
    if (lane === undefined) {
      this.#sweep()
      lane = new KeyPacer(this.#shop, key)
      this.#lanes.set(key, lane)
    }
    return lane
  }

  /** Most lanes go when their last call has had its turn; those that had something booked still, in passing. */
  #sweep(): void {
    let looked = 0
    for (const [key, lane] of this.#lanes) {
      if (looked++ === swept) return
      this.#lanes.delete(key)
      if (lane === this.#root || !lane.idle) this.#lanes.set(key, lane)
    }
  }

  #settled(lane: { readonly key: string; readonly idle: boolean }): void {
    if (lane.key !== whole && lane.idle) this.#lanes.delete(lane.key)
    if (this.#drained.length > 0 && this.#free()) for (const resolve of this.#drained.splice(0)) resolve()
  }

  #free(): boolean {
    for (const lane of this.#lanes.values()) if (!lane.free) return false
    return true
  }

  get policies(): readonly Policy[] {
    return this.#bank.policies
  }

  /**
   * Permits in the policy's window (`per`).
   * @throws HeadgateError `HEADGATE_RATE` for a pacer with several policies
   */
  getRate(): number {
    return this.#bank.rate
  }

  /**
   * From now on so many permits in the policy's window (`per`). Waits already promised are kept. On a store that several
   * processes share each of them has to set it.
   * @throws HeadgateError for a rate that is out of range, or a pacer with several policies
   */
  setRate(rate: number): void {
    const lanes = [...this.#lanes.values()]
    const inUse = lanes.filter(({ queueing }) => !queueing.empty)
    this.#bank.setRate(
      rate,
      inUse.map(({ key }) => key),
    )
    this.#events.rate(rate)
    for (const lane of lanes) lane.queueing.retuned()
  }

  /** Lets nobody through until `resume`. What was promised is given back; the queue and its order stay. */
  pause(): void {
    if (this.#shop.paused) return
    const going = [...this.#lanes.values()].filter((lane) => !lane.stopped)
    this.#shop.paused = true
    for (const lane of going) lane.queueing.stop()
  }

  /** Goes on: everyone who waits is promised a turn anew, in order. */
  resume(): void {
    if (!this.#shop.paused) return
    this.#shop.paused = false
    for (const lane of [...this.#lanes.values()]) {
      if (!lane.stopped) lane.queueing.go()
      this.#settled(lane)
    }
  }

  /** Resolves once nobody waits and nothing runs. */
  drain(): Promise<void> {
    if (this.#free()) return Promise.resolve()
    return new Promise((resolve) => this.#drained.push(resolve))
  }

  /** Refuses all who wait, and all who come from now on, with `HEADGATE_CLOSED`. What runs goes on. */
  close(): void {
    this.#shop.closed = true
    for (const lane of [...this.#lanes.values()]) lane.close()
  }

  /** How many calls wait, of all keys. */
  get waiting(): number {
    let waiting = 0
    for (const lane of this.#lanes.values()) waiting += lane.waiting
    return waiting
  }

  /** How many functions run, or are on the way to it, of all keys. */
  get running(): number {
    let running = 0
    for (const lane of this.#lanes.values()) running += lane.running
    return running
  }

  /** How many keys have somebody waiting or running, or something booked. */
  get keys(): number {
    return this.#lanes.size - 1
  }

  /** What it has done and is doing. */
  get progress(): Progress {
    const { admittedCalls, permits, refusedCalls, waited, longestWait } = this.#events
    const { waiting, running } = this
    return { waiting, running, admitted: admittedCalls, permits, refused: refusedCalls, waited, longestWait }
  }
}

class KeyPace extends Pace {
  protected readonly lane: () => KeyPacer

  constructor(lane: () => KeyPacer) {
    super()
    this.lane = lane
  }
}
