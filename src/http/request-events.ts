import { channel } from '#platform'
import { hook, isPromise, type MaybePromise, reason, warnOnce } from '../common/index.ts'
import type { CallExtras, Key } from '../limiter/index.ts'
import type { Channel } from '../platform/platform.ts'
import type { Decision } from '../policy/index.ts'
import {
  choose,
  failureOptions,
  type OnFailure,
  type OnStoreError,
  type StoreErrorAction,
  type StoreFailure,
  storeErrors,
} from '../stores/contract/index.ts'
import type { Framework } from './framework.ts'

/** The event that hooks and channels get for a decision. With Koa, request and response are both the context. */
export interface DecisionEvent<Request = unknown, Response = unknown> {
  readonly decision: Decision
  /** Who was limited: the key, or a record with a key for each scope. */
  readonly key: Key
  /** The limiter's name. */
  readonly limiter: string
  /** True if a refusal of this key is enforced. False outside the share of `enforce`. */
  readonly enforced: boolean
  readonly request: Request
  readonly response: Response
}

/** The event that hooks and channels get for a request that `deny` refuses. There is no decision: nothing was counted. */
export interface DenialEvent<Request = unknown, Response = unknown> {
  /** The refused address, as the framework's proxy setting confirms it. */
  readonly address: string | undefined
  /** The limiter's name. */
  readonly limiter: string
  readonly request: Request
  readonly response: Response
}

/**
 * The event that the channel gets for a request without an address. The request is refused, because its client has left
 * or its proxy reported no address. A request over a connection that has no addresses, such as a unix socket, is not
 * refused.
 */
export interface NoAddressEvent<Request = unknown, Response = unknown> {
  /** The limiter's name. */
  readonly limiter: string
  /** True if the refusal is enforced. False outside the share of `enforce`, and if `shared` is true. */
  readonly enforced: boolean
  /** True if the request goes on, because its connection has no addresses (a unix socket). All such requests share one limit. */
  readonly shared: boolean
  /** How many requests without an address this middleware has had: 1 for the first. */
  readonly count: number
  readonly request: Request
  readonly response: Response
}

/** The event that hooks and channels get for a request that the store could not decide. */
export interface StoreErrorEvent<Request = unknown, Response = unknown> extends StoreFailure {
  readonly request: Request
  readonly response: Response
}

/** Hooks of a middleware. A hook cannot break a request: if it throws or rejects, a warning is given once. */
export interface Hooks<Request, Response> {
  /** Called for every decision. Example: `({ decision, key }) => log.debug({ key, ...decision })`. */
  onDecision?: ((event: DecisionEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /** Called for every refusal, enforced or not. Example: `({ key }) => log.info({ refused: key })`. */
  onRefused?: ((event: DecisionEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /** Called for every request that `deny` refuses. Example: `({ address }) => log.info({ denied: address })`. */
  onDenied?: ((event: DenialEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /**
   * What happens to requests that the store cannot decide: `'closed'` responds with 503, `'throw'` gives the store's error
   * to the framework, `'open'` admits them, `'local'`
   * decides them in this process. Or a function that gets each event and may return one of these. Default: the
   * limiter's `onStoreError`, which is `'local'` by default. Example: `({ error }) => { log.error(error) }`.
   */
  onStoreError?: OnStoreError<StoreErrorEvent<Request, Response>> | undefined
}

const decisions = channel('headgate:decision')
const refusals = channel('headgate:refused')
const denials = channel('headgate:denied')
const addressless = channel('headgate:no-address')

/** Notifies hooks and channels. An event is made only if there is a listener. */
export class RequestEvents<Request, Response> {
  readonly #limiter: string
  readonly #hooks: Hooks<Request, Response>
  /** The extras of a limiter's call when nobody listens for store errors. */
  readonly choice: { readonly onFailure?: OnFailure }
  /** Requests without an address so far. */
  #addressless = 0

  constructor(limiter: string, { onDecision, onRefused, onDenied, onStoreError }: Hooks<Request, Response>) {
    this.#limiter = limiter
    hook('({ decision, key }) => ...')(onDecision, 'onDecision')
    hook('({ decision, key }) => ...')(onRefused, 'onRefused')
    hook('({ address }) => ...')(onDenied, 'onDenied')
    failureOptions.onStoreError(onStoreError, 'onStoreError')
    this.choice = typeof onStoreError === 'string' ? { onFailure: () => onStoreError } : {}
    this.#hooks = { onDecision, onRefused, onDenied, onStoreError }
  }

  /** True if there is a listener for decisions of this kind. */
  listens(allowed: boolean): boolean {
    if (this.#hooks.onDecision !== undefined || decisions.hasSubscribers) return true
    return !allowed && (this.#hooks.onRefused !== undefined || refusals.hasSubscribers)
  }

  decided(decision: Decision, key: Key, enforced: boolean, request: Request, response: Response): void {
    const event = { decision, key, limiter: this.#limiter, enforced, request, response }
    notify('onDecision', this.#hooks.onDecision, decisions, event)
    if (!decision.allowed) notify('onRefused', this.#hooks.onRefused, refusals, event)
  }

  /** Notifies that `deny` refused a request. The address is looked up only if there is a listener. */
  denied(framework: Framework<Request, Response>, request: Request, response: Response): void {
    const { onDenied } = this.#hooks
    if (onDenied === undefined && !denials.hasSubscribers) return
    const event = { address: framework.address(request), limiter: this.#limiter, request, response }
    notify('onDenied', onDenied, denials, event)
  }

  /** Notifies of a request that has no address. Such requests are counted also without a listener. */
  noAddress(shared: boolean, enforced: boolean, request: Request, response: Response): void {
    const count = ++this.#addressless
    if (!addressless.hasSubscribers) return
    const limiter = this.#limiter
    addressless.publish({ limiter, enforced, shared, count, request, response } satisfies NoAddressEvent)
  }

  /**
   * The extras of a call to the limiter, so that a store error reaches the hook and the channel.
   * @param usual the extras of a call without a listener for store errors
   */
  extras(usual: CallExtras, key: Key, request: Request, response: Response): CallExtras {
    if (typeof this.#hooks.onStoreError !== 'function' && !storeErrors.hasSubscribers) return usual
    return { ...usual, onFailure: (error) => this.storeFailed(error, key, request, response) }
  }

  storeFailed(error: unknown, key: Key, request: Request, response: Response): StoreErrorAction | undefined {
    const event = { error, key, limiter: this.#limiter, request, response }
    if (storeErrors.hasSubscribers) storeErrors.publish(event)
    return choose(this.#hooks.onStoreError, event)
  }
}

function notify<Event>(name: string, hook: ((event: Event) => unknown) | undefined, to: Channel, event: Event): void {
  if (to.hasSubscribers) to.publish(event)
  if (hook !== undefined) callHook(name, hook, event, 'requests')
}

/** Calls a hook. If the hook throws or rejects, the request goes on, and a warning is given once. */
export function callHook<Event>(
  name: string,
  hook: (event: Event) => unknown,
  event: Event,
  goOn: 'requests' | 'messages',
): void {
  const failed = (error: unknown) => {
    warnOnce('HEADGATE_HOOK', `${name} threw; ${goOn} go on without it. Catch in the hook. ${reason(error)}`, name)
  }
  try {
    const returned = hook(event)
    if (isPromise(returned)) returned.then(undefined, failed)
  } catch (error) {
    failed(error)
  }
}
