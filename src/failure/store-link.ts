import { channel, isolatesRequests } from '#platform'
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
  Deadlines,
  type Ledger,
  type OutcomeOf,
  type Store,
  type Verb,
} from '../stores/contract/index.ts'
import { Breaker } from './breaker.ts'
import { StoreParts } from './store-parts.ts'
import { StoreRequest } from './store-request.ts'

/** The event of the channel `headgate:store:call`, published after a call to a store that answers with a promise. */
export interface StoreCallEvent {
  readonly store: Store
  /** The name of the limiter. */
  readonly limiter: string
  /**
   * The name of the shard that the call needed, such as a node of Redis Cluster. If the call needed several shards, their
   * names, joined by `+`. Undefined if the store has no shards.
   */
  readonly shard: string | undefined
  /** The start of the call, in milliseconds since the epoch. */
  readonly startedAt: number
  /** How long the caller waited for the store, in milliseconds. */
  readonly duration: number
  /** The error of the call; undefined if the store answered with an outcome before the deadline. */
  readonly error: unknown
}

const calls = channel('headgate:store:call')

/** The timeout in milliseconds for a store whose traits have no timeout. */
const defaultTimeout = 100
/** How many milliseconds the link waits beyond the store's own timeout, so that the store can withdraw the request. */
const grace = 10

/**
 * The link to a store. Each request succeeds or fails before a deadline. The breakers of the shards that the request needs count the
 * outcome.
 *
 * If the option `storeTimeout` is a time, the link enforces the deadline of each request. If the option is Infinity, the link enforces no
 * deadline. Without the option, the store enforces the deadline if its traits have a `timeout`. Otherwise the link enforces a deadline of
 * 100 ms. A response of the store that is not a promise needs no deadline.
 */
export class StoreLink {
  readonly store: Store
  /** The name of the limiter. */
  readonly limiter: string
  readonly parts: StoreParts
  readonly #deadlines: Deadlines
  /** True if the store itself rejects each request at its deadline. */
  readonly #storeKeepsDeadlines: boolean
  /** How many requests failed or timed out. */
  errors = 0

  /**
   * @param timeout in milliseconds; undefined: the store's own timeout, or 100 if the store has none; Infinity: the link has no timeout
   * @param apart true if no other limiter shares the breakers
   */
  constructor(
    store: Store,
    limiter: string,
    timeout: number | undefined,
    clock: Clock,
    sleeper: Sleeper,
    apart?: boolean,
  ) {
    const kept = store.traits?.timeout
    const own = kept === undefined ? defaultTimeout : kept + grace
    this.store = store
    this.limiter = limiter
    this.parts = new StoreParts(store, clock, apart)
    this.#deadlines = new Deadlines('The store', timeout ?? own, 'See the option storeTimeout.', clock, sleeper)
    this.#storeKeepsDeadlines = timeout === Infinity || (timeout === undefined && kept !== undefined)
  }

  /** Sends the request. With a synchronous store, returns the outcome itself and not a promise, or throws if the request fails. */
  send<V extends Verb>(request: StoreRequest<V>): MaybePromise<OutcomeOf<V>> {
    let response: MaybePromise<OutcomeOf<V>>
    request.failuresBefore = Breaker.counted
    try {
      response = request.send()
    } catch (error) {
      if (this.store.synchronous) return this.failed(request, error)
      response = Promise.reject(error)
    }
    if (!isPromise(response)) return this.#succeeded(request, response)
    // A promise of another library may throw in `then`, or resolve twice. A native promise, which `Promise.resolve` returns, does neither.
    const promise = response instanceof Promise ? response : Promise.resolve(response)
    if (!this.#storeKeepsDeadlines) return this.#observed(request, this.#bounded(request, promise))
    const result = promise.then(
      (value) => this.#succeeded(request, value),
      (error) => this.failed(request, error),
    )
    return this.#observed(request, result)
  }

  /**
   * Publishes a `StoreCallEvent` when a request has ended. Subscribers run before the caller gets the result, in the caller's
   * asynchronous context.
   */
  #observed<V extends Verb>(request: StoreRequest<V>, result: Promise<OutcomeOf<V>>): Promise<OutcomeOf<V>> {
    if (!calls.hasSubscribers) return result
    const { store, limiter } = this
    const shards = request.breakers.flatMap((breaker) => breaker.shard ?? [])
    const shard = shards.sort().join('+') || undefined
    const startedAt = monotonicClock() / 1000
    const ended = () => {
      const duration = monotonicClock() / 1000 - startedAt
      const { failure: error } = request
      calls.publish({ store, limiter, shard, startedAt, duration, error } satisfies StoreCallEvent)
    }
    result.then(ended, ended)
    return result
  }

  /**
   * Sends the request after the promise `before` has resolved, with one deadline for `before` and the request. If `before` rejects, the
   * request fails and is not sent. No breaker counts this failure, because a breaker has counted the failure of `before`.
   */
  sendAfter<V extends Verb>(before: Promise<unknown>, request: StoreRequest<V>): Promise<OutcomeOf<V>> {
    request.sent = false
    const send = () => {
      if (!request.waits) throw new Error('the deadline has passed')
      request.sent = true
      request.failuresBefore = Breaker.counted
      return request.send()
    }
    return this.#observed(request, this.#bounded(request, before.then(send)))
  }

  /** Sends a command. A failure rejects the promise. */
  async request<V extends Verb>(ledger: Ledger, command: Command<V>): Promise<OutcomeOf<V>> {
    return this.send(new StoreRequest(ledger, command, this.parts.of(command.keys)))
  }

  /**
   * Sends a probe (a test request) to the shard that decides on this key, if a probe is due now. Cloudflare Workers stop all work for an
   * HTTP request when that request ends. There, `probe` returns a promise that the caller has to await. Elsewhere it returns undefined.
   * @param send sends a request with the key
   */
  probe(key: string, send: () => Promise<void>): Promise<unknown> | undefined {
    const due = this.parts.of([key]).filter((breaker) => breaker.startProbe(this.limiter))
    if (due.length === 0) return undefined
    const ended = Promise.all(due.map((breaker) => this.#probe(breaker, send)))
    return isolatesRequests ? ended : undefined
  }

  #probe(breaker: Breaker, send: () => Promise<void>): Promise<void> {
    const { limiter } = this
    return send().then(
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

  /** Ends a request that has failed. The caller gets the outcome that the request's `failed` returns, or the error that `failed` throws. */
  settle<V extends Verb>(request: StoreRequest<V>, error: unknown): void {
    try {
      request.resolve(this.failed(request, error))
    } catch (thrown) {
      request.reject(thrown)
    }
  }

  #succeeded<V extends Verb>(request: StoreRequest<V>, response: OutcomeOf<V>): OutcomeOf<V> {
    for (const breaker of request.breakers) breaker.succeeded()
    return request.succeeded(response)
  }

  failed<V extends Verb>(request: StoreRequest<V>, error: unknown): OutcomeOf<V> {
    request.failure = error
    if (!request.sent || isMisuse(error)) return request.failed(error)
    const shards = shardsOf(error)
    const works = !isFailure(error)
    if (!works) this.errors++
    for (const breaker of request.breakers) {
      if (works) breaker.succeeded()
      else if (shards === undefined || shards.includes(breaker.shard ?? '')) {
        breaker.failed(error, this.limiter, request.failuresBefore)
      }
    }
    return request.failed(error)
  }
}

/**
 * True if the store itself failed. False if the caller made a mistake, if the stored text of one key cannot be read, or if the error's list
 * of failed shards is empty.
 */
function isFailure(error: unknown): boolean {
  return !isMisuse(error) && !isBrokenRecord(error) && shardsOf(error)?.length !== 0
}

function shardsOf(error: unknown): readonly string[] | undefined {
  return error instanceof HeadgateError ? error.shards : undefined
}

/** True for a mistake of the caller that the store noticed. Such an error does not count as a failure of the store. */
export function isMisuse(error: unknown): boolean {
  return error instanceof HeadgateError && !error.code.startsWith('HEADGATE_STORE')
}

/**
 * The scopes (kinds of key) in which the store has certainly counted a call that failed, and those in which it has certainly not.
 * @param all the scopes of the call
 */
export function scopesOf(error: unknown, all: readonly string[]): NonNullable<HeadgateError['scopes']> {
  if (error instanceof HeadgateError && error.scopes !== undefined) return error.scopes
  return { counted: [], uncounted: isUncounted(error) ? all : [] }
}

/** True if the store has certainly not executed a call that failed with this error, so that the call can be sent again. */
export function isUncounted(error: unknown): boolean {
  return error instanceof HeadgateError && error.uncounted === true && !isBrokenRecord(error)
}
