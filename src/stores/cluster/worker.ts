import { setImmediate } from 'node:timers'
import type { Costs, Details } from '../../algorithms/evaluation.ts'
import type { Decision } from '../../decision.ts'
import { HeadgateError, storeError } from '../../errors.ts'
import type { KeptKey, KeyPage } from '../../inspection/kept-key.ts'
import { Deadlines, type PendingCall } from '../deadlines.ts'
import { exchanged, exchangeStart } from '../exchange.ts'
import type {
  Booking,
  BreakerTerms,
  DecideOptions,
  DecideVerb,
  Ledger,
  LedgerTerms,
  ReserveOptions,
  Store,
} from '../store.ts'
import {
  isResponseMessage,
  type LedgerRequest,
  type LedgerResult,
  packTerms,
  type RequestMessage,
  unpackResult,
} from './messages.ts'

type PendingRequest = PendingCall<LedgerResult | undefined>

/** The side that sends requests: those of one turn of the event loop travel in one message. */
export class WorkerStore implements Store {
  readonly kind = 'cluster'
  readonly synchronous = false
  /** How long a call may take, in milliseconds. */
  readonly timeout: number
  readonly breaker: Partial<BreakerTerms>
  readonly #name: string
  readonly #deadlines: Deadlines
  /** The requests without a response, by their ids. */
  readonly #pending = new Map<number, PendingRequest>()
  /** The index of each terms in the next message. */
  #terms = new Map<string, number>()
  /** The requests of the next message. */
  #requests: RequestMessage['requests'][number][] = []
  /** The messages without a response, by the ids of their first requests, as long as anyone watches exchanges. */
  readonly #exchanges = new Map<number, PendingCall<void>>()
  #nextId = 0

  /** @param timeout in milliseconds */
  constructor(name: string, timeout: number, breaker: Partial<BreakerTerms> = {}) {
    this.#name = name
    this.breaker = breaker
    this.timeout = timeout
    const fix = 'Call clusterStore() with the same name in the primary too, or set a longer timeout.'
    this.#deadlines = new Deadlines('The primary', timeout, fix)
    process.on('message', this.#onMessage)
    process.on('disconnect', this.#onDisconnect)
  }

  open(terms: LedgerTerms): Ledger {
    return new WorkerLedger(this, packTerms(terms))
  }

  /** Rejects the pending calls, and lets the process end. */
  close(): void {
    process.removeListener('message', this.#onMessage)
    process.removeListener('disconnect', this.#onDisconnect)
    this.#onDisconnect()
  }

  send(terms: string, request: LedgerRequest): Promise<LedgerResult | undefined> {
    return this.#deadlines.promise((pending) => {
      const id = this.#nextId++
      this.#pending.set(id, pending)
      const index = this.#terms.get(terms) ?? this.#terms.size
      this.#terms.set(terms, index)
      if (this.#requests.push([id, index, request]) === 1) setImmediate(() => this.#sendMessage())
    })
  }

  #sendMessage(): void {
    const requests = this.#requests
    const message: RequestMessage = { headgate: this.#name, terms: [...this.#terms.keys()], requests }
    this.#requests = []
    this.#terms = new Map()
    this.#forgetTimedOut()
    const ids = requests.map(([id]) => id)
    if (process.send === undefined || !process.connected) {
      this.#reject(ids, new Error('there is no connection to the primary'))
      return
    }
    this.#watchExchange(ids[0] as number, ids.length)
    process.send(message, undefined, undefined, (error) => {
      if (error) this.#reject(ids, error)
    })
  }

  /** Publishes how a message ends: with its response, its failure or its deadline. */
  #watchExchange(first: number, calls: number): void {
    const startedAt = exchangeStart()
    if (startedAt === 0) return
    const ended = (error?: unknown) => {
      this.#exchanges.delete(first)
      exchanged(this.kind, startedAt, calls, error)
    }
    const start = (exchange: PendingCall<void>) => void this.#exchanges.set(first, exchange)
    this.#deadlines.promise(start).then(() => ended(), ended)
  }

  readonly #onMessage = (message: unknown): void => {
    if (!isResponseMessage(message, this.#name)) return
    const [first] = message.responses
    if (first !== undefined) this.#exchanges.get(first[0])?.resolve()
    for (const [id, result, failure] of message.responses) {
      const pending = this.#remove(id)
      if (failure !== undefined) pending?.reject(new HeadgateError(failure.code, failure.message))
      else pending?.resolve(result === null ? undefined : unpackResult(result))
    }
  }

  readonly #onDisconnect = (): void => {
    this.#reject([...this.#pending.keys()], new Error('the connection to the primary is lost'))
  }

  #reject(ids: readonly number[], cause: Error): void {
    for (const id of ids) {
      this.#exchanges.get(id)?.reject(storeError('The primary', cause))
      this.#remove(id)?.reject(storeError('The primary', cause))
    }
  }

  #remove(id: number): PendingRequest | undefined {
    const pending = this.#pending.get(id)
    this.#pending.delete(id)
    return pending
  }

  /** Drops the oldest requests that have timed out: their responses may never come. */
  #forgetTimedOut(): void {
    for (const [id, pending] of this.#pending) {
      if (!pending.settled) return
      this.#remove(id)
    }
  }
}

class WorkerLedger implements Ledger {
  readonly #store: WorkerStore
  readonly #terms: string

  constructor(store: WorkerStore, terms: string) {
    this.#store = store
    this.#terms = terms
  }

  async decide(verb: DecideVerb, keys: readonly string[], costs: Costs, options?: DecideOptions): Promise<Decision> {
    const { tickets } = options ?? {}
    const plain = { ...detailsOf(options), ...(tickets && { tickets }) }
    return (await this.#send({ verb, keys, costs, maxWait: 0, options: plain })).decision
  }

  async reserve(keys: readonly string[], costs: Costs, maxWait: number, options?: ReserveOptions): Promise<Booking> {
    const { renews } = options ?? {}
    const plain = { ...detailsOf(options), ...(renews && { renews }) }
    return this.#send({ verb: 'reserve', keys, costs, maxWait, options: plain })
  }

  async reset(keys: readonly string[]): Promise<void> {
    await this.#send({ verb: 'reset', keys, costs: 1, maxWait: 0, options: {} })
  }

  async block(keys: readonly (string | undefined)[], time: number, reason: string | undefined): Promise<void> {
    const duration = time === Infinity ? null : time // JSON has no Infinity
    const block = { duration, ...(reason !== undefined && { reason }) }
    await this.#send({ verb: 'block', keys: keys.map(orNull), costs: 1, maxWait: 0, options: {}, block })
  }

  async unblock(keys: readonly (string | undefined)[]): Promise<void> {
    await this.#send({ verb: 'unblock', keys: keys.map(orNull), costs: 1, maxWait: 0, options: {} })
  }

  async clear(): Promise<void> {
    await this.#send({ verb: 'clear', keys: [], costs: 1, maxWait: 0, options: {} })
  }

  async inspect(keys: readonly string[]): Promise<readonly KeptKey[]> {
    return this.#send({ verb: 'inspect', keys, costs: 1, maxWait: 0, options: {} })
  }

  async list(scope: string, from: unknown): Promise<KeyPage> {
    return this.#send({ verb: 'list', keys: [], costs: 1, maxWait: 0, options: {}, listed: [scope, from] })
  }

  async #send<Result extends LedgerResult = Booking>(request: LedgerRequest): Promise<Result> {
    return (await this.#store.send(this.#terms, request)) as Result
  }
}

function orNull(key: string | undefined): string | null {
  return key ?? null
}

/** Only what the primary needs: functions do not travel. */
function detailsOf({ at, nextAfter }: Details = {}): Details {
  return { ...(at && { at }), ...(nextAfter && { nextAfter }) }
}
