import { setImmediate } from 'node:timers'
import { HeadgateError, monotonicClock, storeError } from '../../common/index.ts'
import { withFailover } from '../../failure/index.ts'
import {
  type BreakerTerms,
  type Command,
  Deadlines,
  type Documents,
  exchanged,
  exchangeStart,
  type Ledger,
  type LedgerTerms,
  type OnLate,
  type Outcome,
  type OutcomeOf,
  type PendingCall,
  type Store,
  type StoreTraits,
  type Verb,
} from '../contract/index.ts'
import {
  type DocumentCommand,
  isResponseMessage,
  noTerms,
  packTerms,
  type RequestMessage,
  restore,
} from './messages.ts'

/** The most requests that have timed out, of which the store waits for the responses. */
const mostLate = 10_000

const ignore = (): void => {}

interface PendingRequest {
  readonly call: PendingCall<Outcome>
  /** Called with a response that comes after the timeout. */
  readonly late: (outcome: Outcome) => void
}

/** The store in a worker. This store sends all requests of one turn of the event loop to the primary in one message. */
export class WorkerStore implements Store {
  readonly synchronous = false
  readonly traits: StoreTraits
  readonly documents: Documents = {
    versions: (...args) => this.#callDocuments('versions', args),
    read: (...args) => this.#callDocuments('read', args),
    swap: (...args) => this.#callDocuments('swap', args),
  }
  readonly #name: string
  readonly #deadlines: Deadlines
  /** The requests that have no response of the primary yet, by their ids. */
  readonly #pending = new Map<number, PendingRequest>()
  /**
   * The terms (policies and settings) of each ledger (limiter's states) that has requests in the next message, with the index of the terms
   * in that message.
   */
  #terms = new Map<string, number>()
  /** The requests of the next message. */
  #requests: RequestMessage['requests'][number][] = []
  /**
   * The messages that the primary has not answered, by the id of their first request. Empty if the channel `headgate:store:exchange` has no
   * subscribers.
   */
  readonly #exchanges = new Map<number, PendingCall<void>>()
  /** Begins at a random number, because another store of this name in the worker gets the same messages. */
  #nextId: number = Math.floor(Math.random() * 2 ** 52)
  #closed = false

  /** @param timeout the longest time of a call, in milliseconds */
  constructor(name: string, timeout: number, breaker: Partial<BreakerTerms> = {}) {
    this.#name = name
    this.traits = { kind: 'cluster', timeout, breaker, alternatives: true }
    const fix = 'Call clusterStore() with the same name in the primary too, or set a longer timeout.'
    this.#deadlines = new Deadlines('The primary', timeout, fix)
    process.on('message', this.#onMessage)
    process.on('disconnect', this.#onDisconnect)
  }

  open(terms: LedgerTerms, joins?: Ledger): Ledger {
    return withFailover(this, terms, joins, (bare) => new WorkerLedger(this, bare))
  }

  /** Rejects the pending calls and all later calls. A closed store does not keep the process alive. */
  close(): void {
    this.#closed = true
    process.removeListener('message', this.#onMessage)
    process.removeListener('disconnect', this.#onDisconnect)
    this.#onDisconnect()
  }

  /** @param onLate called with an outcome that comes after the timeout */
  send(terms: string, command: Command, onLate: OnLate = ignore): Promise<Outcome> {
    return this.#deadlines.promise((call) => {
      const index = this.#terms.get(terms) ?? this.#terms.size
      this.#terms.set(terms, index)
      const sentAt = monotonicClock()
      const late = (outcome: Outcome) => onLate(command, outcome, (monotonicClock() - sentAt) / 1000)
      this.#request({ call, late }, index, command)
    })
  }

  #request(pending: PendingRequest, index: number, command: Command | DocumentCommand): void {
    const id = this.#nextId++
    this.#pending.set(id, pending)
    if (this.#requests.push([id, index, command]) === 1) setImmediate(() => this.#sendMessage())
  }

  #callDocuments<Result>(verb: keyof Documents, args: readonly unknown[]): Promise<Result> {
    return this.#deadlines.promise((call) =>
      this.#request({ call: call as never, late: ignore }, noTerms, { verb, args }),
    )
  }

  #sendMessage(): void {
    const requests = this.#requests
    const message: RequestMessage = { headgate: this.#name, terms: [...this.#terms.keys()], requests }
    this.#requests = []
    this.#terms = new Map()
    this.#forgetTimedOut()
    const ids = requests.map(([id]) => id)
    if (this.#closed || process.send === undefined || !process.connected) {
      this.#reject(ids, new Error(this.#closed ? 'the store is closed' : 'there is no connection to the primary'))
      return
    }
    this.#watchExchange(ids[0] as number, ids.length)
    process.send(message, undefined, undefined, (error) => {
      if (error) this.#reject(ids, error)
    })
  }

  /** Publishes an event when a message has got the primary's response, has failed, or has reached its deadline. */
  #watchExchange(first: number, calls: number): void {
    const startedAt = exchangeStart()
    if (startedAt === 0) return
    const ended = (error?: unknown) => {
      this.#exchanges.delete(first)
      exchanged('cluster', startedAt, calls, error)
    }
    const start = (exchange: PendingCall<void>) => void this.#exchanges.set(first, exchange)
    this.#deadlines.promise(start).then(() => ended(), ended)
  }

  readonly #onMessage = (message: unknown): void => {
    if (!isResponseMessage(message, this.#name)) return
    const [first] = message.responses
    if (first !== undefined) this.#exchanges.get(first[0])?.resolve()
    for (const [id, outcome, failure] of message.responses) {
      const pending = this.#remove(id)
      if (pending === undefined) continue
      const { call, late } = pending
      const restored = () => (outcome === null ? undefined : (restore(outcome) as Outcome))
      if (failure !== undefined) call.reject(new HeadgateError(failure.code, failure.message))
      else if (call.settled) late(restored())
      else call.resolve(restored())
    }
  }

  readonly #onDisconnect = (): void => {
    this.#reject([...this.#pending.keys()], new Error('the connection to the primary is lost'))
  }

  #reject(ids: readonly number[], cause: Error): void {
    for (const id of ids) {
      this.#exchanges.get(id)?.reject(storeError('The primary', cause))
      this.#remove(id)?.call.reject(storeError('The primary', cause))
    }
  }

  #remove(id: number): PendingRequest | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }

  /** If too many requests have no response, removes the oldest that have timed out, because their responses may never come. */
  #forgetTimedOut(): void {
    for (const [id, { call }] of this.#pending) {
      if (this.#pending.size <= mostLate || !call.settled) return
      this.#remove(id)
    }
  }
}

class WorkerLedger implements Ledger {
  readonly #store: WorkerStore
  readonly #terms: string
  readonly #onLate: OnLate | undefined

  constructor(store: WorkerStore, terms: LedgerTerms) {
    this.#store = store
    this.#terms = packTerms(terms)
    this.#onLate = terms.onLate
  }

  run<V extends Verb>(command: Command<V>): Promise<OutcomeOf<V>> {
    return this.#store.send(this.#terms, command, this.#onLate) as Promise<OutcomeOf<V>>
  }
}
