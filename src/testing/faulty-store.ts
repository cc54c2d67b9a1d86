/*
 * A store that goes wrong when told to: what a limiter, and the service around it, does then can be tested without a
 * network. The wrapper is one client's way to the store; the store itself stays well.
 *
 *     fault          the call takes effect      the answer comes
 *     delay          half-way                   later
 *     error          not                        at once, an error
 *     hang           not                        never
 *     lost-reply     at once                    never
 *     partition      when that is over          then
 */
import { HeadgateError } from '../errors.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { knownOptions } from '../options.ts'
import { Deadlines } from '../stores/deadlines.ts'
import type { Ledger, LedgerTerms, Store } from '../stores/store.ts'
import { unanswered } from '../stores/unanswered.ts'
import { type Fault, type FaultKind, type ScheduledFault, type TimedFault, timedFault } from './fault.ts'
import type { ManualClock } from './manual-clock.ts'

export interface FaultyStoreOptions {
  /** Whose time the faults go by. Default: real time. */
  clock?: ManualClock
  /** What goes wrong when. Of several at a time the first counts. */
  faults?: readonly ScheduledFault[]
}

/**
 * Wraps a store so that calls fail on a schedule, or by `fail` and `heal`. Where nothing is wrong it answers as the store
 * does, but with a promise, as behind a network.
 *
 *     const store = faultyStore(memoryStore(), { faults: [{ from: '1s', to: '5s', kind: 'hang' }] })
 *
 * @throws HeadgateError `HEADGATE_OPTION`
 */
export function faultyStore(store: Store, options: FaultyStoreOptions = {}): FaultyStore {
  knownOptions('faultyStore', options, ['clock', 'faults'])
  return new FaultyStore(store, options)
}

export class FaultyStore implements Store {
  readonly synchronous = false
  /** The timeout of the wrapped store. This store keeps it too, as a client does whose server hangs. */
  declare readonly timeout?: number
  readonly #deadlines: Deadlines | undefined
  readonly #counts = { calls: 0, delay: 0, error: 0, hang: 0, 'lost-reply': 0, partition: 0 }
  readonly #store: Store
  /** By the name of a limiter: what is opened again has the same states. */
  readonly #opened = new Map<string, Ledger>()
  readonly #clock: ManualClock | undefined
  readonly #schedule: readonly TimedFault[]
  readonly #start: number
  #switched: TimedFault | undefined
  /** Calls that a partition holds up, in their order. */
  readonly #heldUp: (() => void)[] = []

  constructor(store: Store, { clock, faults = [] }: FaultyStoreOptions) {
    this.#store = store
    this.#clock = clock
    this.#schedule = faults.map(timedFault)
    this.#start = this.#now
    if (store.timeout === undefined) return
    this.timeout = store.timeout
    this.#deadlines = new Deadlines(store.timeout, clock?.now, clock?.sleeper)
  }

  open(terms: LedgerTerms): Ledger {
    const ledger = this.#opened.get(terms.name)?.vary?.(terms) ?? this.#store.open(terms)
    this.#opened.set(terms.name, ledger)
    return {
      decide: (...call) => this.#call(() => ledger.decide(...call)),
      reserve: (...call) => this.#call(() => ledger.reserve(...call)),
      reset: (...call) => this.#call(() => ledger.reset(...call)),
    }
  }

  /** How many calls came, and how many of them met each fault. */
  get counts(): Readonly<Record<'calls' | FaultKind, number>> {
    return { ...this.#counts }
  }

  /** From now on every call meets this fault, whatever the schedule says, until `heal`. */
  fail(fault: FaultKind | Fault): void {
    this.#switched = timedFault(typeof fault === 'string' ? { kind: fault } : fault)
    this.#release()
  }

  /** Ends what `fail` began. What a partition held up arrives now, in order; what hangs or was lost is never answered. */
  heal(): void {
    this.#switched = undefined
    this.#release()
  }

  #call<T>(send: () => MaybePromise<T>): Promise<T> {
    const answer = this.#meet(send)
    const timedOut = () => unanswered('The store', this.timeout as number)
    return this.#deadlines === undefined ? answer : this.#deadlines.bound(answer, timedOut)
  }

  async #meet<T>(send: () => MaybePromise<T>): Promise<T> {
    this.#counts.calls++
    const fault = this.#fault
    if (fault?.kind !== 'partition') this.#release() // where the timer is late nobody overtakes
    if (fault === undefined) return send()
    this.#counts[fault.kind]++
    if (fault.kind === 'hang') return never()
    if (fault.kind === 'error')
      throw new HeadgateError('HEADGATE_STORE', 'This store fails because a test wants it to.')
    if (fault.kind === 'partition') return this.#holdUp(send)
    await this.#sleep(Math.floor(fault.by / 2))
    const answer = await send()
    await this.#sleep(Math.ceil(fault.by / 2))
    return fault.kind === 'lost-reply' ? never() : answer
  }

  get #fault(): TimedFault | undefined {
    if (this.#switched !== undefined) return this.#switched
    const now = this.#now - this.#start
    return this.#schedule.find(({ from, to }) => from <= now && now < to)
  }

  #holdUp<T>(send: () => MaybePromise<T>): Promise<T> {
    return new Promise((resolve) => {
      this.#heldUp.push(() => resolve((async () => send())()))
      if (this.#heldUp.length === 1) this.#release()
    })
  }

  /** Lets arrive what was held up, unless a partition is on: then looks again when that is to end. */
  #release(): void {
    if (this.#heldUp.length === 0) return
    const fault = this.#fault
    if (fault?.kind !== 'partition') for (const arrive of this.#heldUp.splice(0)) arrive()
    else if (fault.to < Infinity) void this.#sleep(this.#start + fault.to - this.#now)?.then(() => this.#release())
  }

  /** Milliseconds. */
  get #now(): number {
    return this.#clock?.milliseconds ?? performance.now()
  }

  #sleep(milliseconds: number): Promise<void> | undefined {
    if (milliseconds <= 0) return undefined
    return new Promise((resolve) => {
      if (this.#clock !== undefined) this.#clock.sleeper(milliseconds, resolve)
      else setTimeout(resolve, Math.ceil(milliseconds))
    })
  }
}

function never(): Promise<never> {
  return new Promise(() => undefined)
}
