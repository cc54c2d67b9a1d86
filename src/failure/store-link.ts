import { channel } from '#platform'
import {
  type Clock,
  HeadgateError,
  isBrokenRecord,
  isPromise,
  type MaybePromise,
  monotonicClock,
  type Sleeper,
} from '../common/index.ts'
import {
  type Command,
  DeadlineItem,
  Deadlines,
  type Ledger,
  type OutcomeOf,
  type Store,
  type Verb,
} from '../stores/contract/index.ts'
import { type Breaker, breakerOf } from './breaker.ts'

/** The event of the channel `headgate:store:call`: published after a call to a store that answers with a promise. */
export interface StoreCallEvent {
  readonly store: Store
  /** The limiter's name. */
  readonly limiter: string
  /** The part of the store, such as a node of Redis Cluster; undefined if it has no parts. */
  readonly shard: string | undefined
  /** The start of the call, in milliseconds since the epoch. */
  readonly startedAt: number
  /** How long the caller waited for the store, in milliseconds. */
  readonly duration: number
  /** The error of the call; undefined if the store answered in time. */
  readonly error: unknown
}

const calls = channel('headgate:store:call')

/** The timeout in milliseconds for a store that declares no timeout. */
const defaultTimeout = 100
/** Milliseconds that the link waits longer than the store's own timeout: the store may be able to withdraw the request. */
const grace = 10

/** One command to the store. The caller gets the return value of `succeeded` or of `failed`. */
export class StoreRequest<V extends Verb> extends DeadlineItem {
  /** True: a failure counts as the store's, because the request was sent. */
  override sent = true
  /** How many failures of the store the breaker had counted when the request was sent. */
  failuresBefore = 0
  /** The error of a request that failed. */
  failure: unknown
  declare link: StoreLink
  declare resolve: (result: OutcomeOf<V>) => void
  declare reject: (error: unknown) => void
  readonly #ledger: Ledger
  protected readonly command: Command<V>

  constructor(ledger: Ledger, command: Command<V>) {
    super()
    this.#ledger = ledger
    this.command = command
  }

  send(): MaybePromise<OutcomeOf<V>> {
    return this.#ledger.run(this.command)
  }

  succeeded(outcome: OutcomeOf<V>): OutcomeOf<V> {
    return outcome
  }

  /** Returns the outcome in place of the store's, or throws. */
  failed(error: unknown): OutcomeOf<V> {
    throw error
  }

  /** Called with an outcome that arrives after the request has failed. */
  late(_outcome: OutcomeOf<V>): void {}

  /** Called when the deadline has passed. */
  expire(error: HeadgateError): void {
    this.link.settle(this, error)
  }
}

/**
 * The link to a store. Each request succeeds or fails within a deadline, and the breaker counts the outcome.
 *
 * Either the store or the link enforces the deadline of a request: the store if it declares a `timeout`, else the link. With the
 * option `storeTimeout` the link does; Infinity leaves it to the store. A response that is not a promise needs no deadline.
 */
export class StoreLink {
  readonly store: Store
  /** The name of the limiter. */
  readonly limiter: string
  readonly breaker: Breaker
  readonly #deadlines: Deadlines
  /** True if the store itself rejects each request in time. */
  readonly #storeKeepsDeadlines: boolean
  /** Requests that failed or timed out. */
  errors = 0

  /** @param timeout in milliseconds; undefined: the store's own, or 100; Infinity: none */
  constructor(
    store: Store,
    limiter: string,
    timeout: number | undefined,
    clock: Clock,
    sleeper: Sleeper,
    shard?: string,
  ) {
    const kept = store.traits?.timeout
    const own = kept === undefined ? defaultTimeout : kept + grace
    this.store = store
    this.limiter = limiter
    this.breaker = breakerOf(store, clock, shard)
    this.#deadlines = new Deadlines('The store', timeout ?? own, 'See the option storeTimeout.', clock, sleeper)
    this.#storeKeepsDeadlines = timeout === Infinity || (timeout === undefined && kept !== undefined)
  }

  /** Sends the request. A synchronous store answers at once, and a failure of it throws. */
  send<V extends Verb>(request: StoreRequest<V>): MaybePromise<OutcomeOf<V>> {
    let response: MaybePromise<OutcomeOf<V>>
    request.failuresBefore = this.breaker.counted
    try {
      response = request.send()
    } catch (error) {
      if (this.store.synchronous) return this.failed(request, error)
      response = Promise.reject(error)
    }
    if (!isPromise(response)) return this.#succeeded(request, response)
    // A promise of another library may throw, or respond twice. A native promise around it does neither.
    const promise = response instanceof Promise ? response : Promise.resolve(response)
    if (!this.#storeKeepsDeadlines) return this.#observed(request, this.#bounded(request, promise))
    const result = promise.then(
      (value) => this.#succeeded(request, value),
      (error) => this.failed(request, error),
    )
    return this.#observed(request, result)
  }

  /** Publishes the end of the request before its caller gets the result, in the caller's asynchronous context. */
  #observed<V extends Verb>(request: StoreRequest<V>, result: Promise<OutcomeOf<V>>): Promise<OutcomeOf<V>> {
    if (!calls.hasSubscribers) return result
    const { store, limiter, breaker } = this
    const startedAt = monotonicClock() / 1000
    const ended = () => {
      const duration = monotonicClock() / 1000 - startedAt
      const { failure: error } = request
      calls.publish({ store, limiter, shard: breaker.shard, startedAt, duration, error } satisfies StoreCallEvent)
    }
    result.then(ended, ended)
    return result
  }

  /** Sends the request after `before`, both within one deadline. The breaker has already counted a failure of `before`. */
  sendAfter<V extends Verb>(before: Promise<unknown>, request: StoreRequest<V>): Promise<OutcomeOf<V>> {
    request.sent = false
    const send = () => {
      if (!request.waits) throw new Error('the deadline has passed')
      request.sent = true
      request.failuresBefore = this.breaker.counted
      return request.send()
    }
    return this.#observed(request, this.#bounded(request, before.then(send)))
  }

  /** Sends a command. A failure rejects the promise. */
  async request<V extends Verb>(ledger: Ledger, command: Command<V>): Promise<OutcomeOf<V>> {
    return this.send(new StoreRequest(ledger, command))
  }

  /** Sends a probe if one is due. No caller waits for it. */
  probe(ledger: Ledger, command: Command): void {
    const { breaker, limiter } = this
    if (!breaker.startProbe(limiter)) return
    this.request(ledger, command).then(
      () => breaker.endProbe(true, undefined, limiter),
      (error) => breaker.endProbe(!isFailure(error), error, limiter),
    )
  }

  #bounded<V extends Verb>(request: StoreRequest<V>, response: Promise<OutcomeOf<V>>): Promise<OutcomeOf<V>> {
    const deadlines = this.#deadlines
    return new Promise((resolve, reject) => {
      Object.assign(request, { link: this, resolve, reject })
      deadlines.add(request)
      response.then(
        (value) => (deadlines.remove(request) ? resolve(this.#succeeded(request, value)) : request.late(value)),
        (error) => deadlines.remove(request) && this.settle(request, error),
      )
    })
  }

  /** Gives the caller of a request that failed its outcome. */
  settle<V extends Verb>(request: StoreRequest<V>, error: unknown): void {
    try {
      request.resolve(this.failed(request, error))
    } catch (thrown) {
      request.reject(thrown)
    }
  }

  #succeeded<V extends Verb>(request: StoreRequest<V>, response: OutcomeOf<V>): OutcomeOf<V> {
    this.breaker.succeeded()
    return request.succeeded(response)
  }

  /** @throws the error of a call without another outcome */
  failed<V extends Verb>(request: StoreRequest<V>, error: unknown): OutcomeOf<V> {
    request.failure = error
    if (isBrokenRecord(error)) this.breaker.succeeded()
    else if (request.sent && !isMisuse(error)) {
      this.errors++
      this.breaker.failed(error, this.limiter, request.failuresBefore)
    }
    return request.failed(error)
  }
}

/** True if the store itself failed. A mistake of the caller, or a broken record of one key, shows that the store works. */
function isFailure(error: unknown): boolean {
  return !isMisuse(error) && !isBrokenRecord(error)
}

/** True for a mistake of the caller that the store detected. It is not a failure of the store. */
export function isMisuse(error: unknown): boolean {
  return error instanceof HeadgateError && !error.code.startsWith('HEADGATE_STORE')
}
