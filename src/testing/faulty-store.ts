/*
 * A store that fails on demand, to test a limiter and the service around it without a network. The wrapper simulates
 * the connection of one client to the store. The wrapped store itself does not fail.
 *
 *     fault          the call takes effect      the reply arrives
 *     delay          after half of the delay    after the delay
 *     error          never                      immediately, as an error
 *     hang           never                      never
 *     lost-reply     immediately                never
 *     partition      after the partition        after the partition
 */
import {
  check,
  type Duration,
  duration,
  HeadgateError,
  type MaybePromise,
  optional,
  readOptions,
  type Settled,
  shown,
  unbounded,
} from '../common/index.ts'
import { withFailover } from '../failure/index.ts'
import { Deadlines, type Ledger, type LedgerTerms, type Store, type StoreTraits } from '../stores/contract/index.ts'
import type { ManualClock } from './manual-clock.ts'

const kinds = ['delay', 'error', 'hang', 'lost-reply', 'partition'] as const

/** A way in which a store can fail. The comment of this file explains each way. */
export type FaultKind = (typeof kinds)[number]

/** A fault that `faultyStore` can simulate. */
export interface Fault {
  kind: FaultKind
  /**
   * The length of a delay, in milliseconds or as text. Half of the delay passes before the call takes effect, and half after. Example:
   * `'50ms'`.
   */
  by?: Duration | undefined
}

/** A fault for a limited time. `from` and `to` are durations since the store was wrapped. */
export interface ScheduledFault extends Fault {
  /** When the fault begins, in milliseconds or text. Default: when the store is wrapped. */
  from?: Duration | undefined
  /** When the fault ends, in milliseconds or text. Default: never. */
  to?: Duration | undefined
}

/** A fault whose options were checked, with its times in milliseconds. */
type TimedFault = Settled<ScheduledFault>

/** The options of `faultyStore`. */
export interface FaultyStoreOptions {
  /** The clock for the times of the faults. Default: real time. */
  clock?: ManualClock | undefined
  /** The faults and their times. If several faults overlap, the first fault in the list applies. Default: no faults. */
  faults?: readonly ScheduledFault[] | undefined
}

const isClock = (given: unknown) => typeof Reflect.get(Object(given), 'sleeper') === 'function'
const isStore = (given: unknown) => typeof (given as Partial<Store> | null | undefined)?.open === 'function'
const wrapped = check<Store>(isStore, 'a store', 'memoryStore()')
const readers = {
  clock: optional(check(isClock, 'a ManualClock', 'new ManualClock()')),
  faults: check(Array.isArray, 'a list of faults', "[{ kind: 'hang' }]", []),
}

const isKind = (given: unknown) => kinds.includes(given as FaultKind)
const time = duration(0, { least: 0 })
const faultReaders = {
  kind: check<FaultKind>(isKind, kinds.join(', '), "'hang'"),
  by: time,
  from: time,
  to: unbounded(time, Infinity),
}

/**
 * Wraps a store so that calls fail at the times of `faults`, or between the calls of `fail` and `heal`. Without a
 * fault, a call returns what the wrapped store returns, but as a promise, as with a store behind a network.
 *
 *     const store = faultyStore(memoryStore(), { faults: [{ from: '1s', to: '5s', kind: 'hang' }] })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if an option is invalid
 */
export function faultyStore(store: Store, options: FaultyStoreOptions = {}): FaultyStore {
  readOptions('faultyStore', options, readers)
  wrapped(store, 'faultyStore: store')
  return new FaultyStore(store, options)
}

/** A store that fails on demand. `faultyStore` returns it. */
export class FaultyStore implements Store {
  readonly synchronous = false
  /**
   * Copies these traits of the wrapped store: `alternatives`, `promises` and `timeout`. A call that hangs fails at this timeout, as in a real client when
   * the server hangs.
   */
  readonly traits: StoreTraits
  readonly #deadlines: Deadlines | undefined
  readonly #counts = { calls: 0, delay: 0, error: 0, hang: 0, 'lost-reply': 0, partition: 0 }
  readonly #store: Store
  /** The ledger of each limiter, by the limiter's name. A limiter that is opened a second time gets the same ledger. */
  readonly #opened = new Map<string, Ledger>()
  readonly #clock: ManualClock | undefined
  readonly #schedule: readonly TimedFault[]
  readonly #start: number
  #switched: TimedFault | undefined
  /** Calls that a partition delays until its end, in the order of the calls. */
  readonly #heldUp: (() => void)[] = []

  constructor(store: Store, { clock, faults = [] }: FaultyStoreOptions) {
    this.#store = store
    this.#clock = clock
    this.#schedule = faults.map(timedFault)
    this.#start = this.#now
    const { timeout, alternatives = false, promises = true } = store.traits ?? {}
    this.traits = { alternatives, promises, ...(timeout !== undefined && { timeout }) }
    if (timeout === undefined) return
    this.#deadlines = new Deadlines('The store', timeout, undefined, clock?.now, clock?.sleeper)
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => this.#open(bare))
  }

  #open(terms: LedgerTerms): Ledger {
    const ledger = this.#store.open(terms, this.#opened.get(terms.name))
    this.#opened.set(terms.name, ledger)
    return {
      run: (command) => {
        const sentAt = this.#now
        return this.#call(
          () => ledger.run(command),
          (outcome) => terms.onLate?.(command, outcome, this.#now - sentAt),
        )
      },
    }
  }

  /** How many calls came, and how many calls each fault affected. */
  get counts(): Readonly<Record<'calls' | FaultKind, number>> {
    return { ...this.#counts }
  }

  /** Applies this fault to every call until `heal`. The faults of the option `faults` do not apply during this time. */
  fail(fault: FaultKind | Fault): void {
    this.#switched = timedFault(typeof fault === 'string' ? { kind: fault } : fault)
    this.#release()
  }

  /**
   * Ends the fault that `fail` began. Calls that a partition has delayed arrive now, in their order. Calls that hang or
   * have lost their reply never complete.
   */
  heal(): void {
    this.#switched = undefined
    this.#release()
  }

  /** @param late called with an outcome that comes after the timeout of the wrapped store */
  #call<T>(send: () => MaybePromise<T>, late: (outcome: T) => void): Promise<T> {
    const answer = this.#meet(send)
    return this.#deadlines === undefined ? answer : this.#deadlines.bound(answer, late)
  }

  async #meet<T>(send: () => MaybePromise<T>): Promise<T> {
    this.#counts.calls++
    const fault = this.#fault
    if (fault?.kind !== 'partition') this.#release() // if a timer is late, earlier calls still wait: send them first
    if (fault === undefined) return send()
    this.#counts[fault.kind]++
    if (fault.kind === 'hang') return never()
    if (fault.kind === 'error')
      throw new HeadgateError(
        'HEADGATE_STORE',
        'This store fails because a test asked for it. Call heal() to end the fault.',
        { uncounted: true },
      )
    if (fault.kind === 'partition') return this.#holdUp(send)
    await this.#sleep(Math.floor(fault.by / 2))
    const reply = await send()
    await this.#sleep(Math.ceil(fault.by / 2))
    return fault.kind === 'lost-reply' ? never() : reply
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

  /** Sends the calls that a partition has delayed. If a partition is in progress, tries again at its end. */
  #release(): void {
    if (this.#heldUp.length === 0) return
    const fault = this.#fault
    if (fault?.kind !== 'partition') for (const arrive of this.#heldUp.splice(0)) arrive()
    else if (fault.to < Infinity) void this.#sleep(this.#start + fault.to - this.#now)?.then(() => this.#release())
  }

  /** The time of the clock in milliseconds. */
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

/** @throws HeadgateError `HEADGATE_OPTION` if an option of the fault is invalid */
function timedFault(fault: ScheduledFault): TimedFault {
  const timed = readOptions('A fault', fault, faultReaders)
  const { kind, from, to } = timed
  if ((kind === 'delay') !== (fault.by !== undefined)) {
    const what = fault.by === undefined ? 'needs a' : 'takes no'
    throw wrong(`${kind} ${what} \`by\``, "Write { kind: 'delay', by: '50ms' }.")
  }
  if (from >= to) throw wrong(`from ${shown(fault.from)} to ${shown(fault.to)} is an empty time`, 'Give a later `to`.')
  return timed
}

function wrong(what: string, fix: string): HeadgateError {
  return new HeadgateError('HEADGATE_OPTION', `A fault: ${what}. ${fix}`)
}
