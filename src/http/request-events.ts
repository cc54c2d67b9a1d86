import { channel } from '#platform'
import { callHook, hook, type MaybePromise } from '../common/index.ts'
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

/** The event that hooks and channels get after a decision. With Koa, the context is both the request and the response. */
export interface DecisionEvent<Request = unknown, Response = unknown> {
  readonly decision: Decision
  /** Who was limited: the key, or a record with a key for each scope (a name such as `user`). */
  readonly key: Key
  /** The name of the limiter. */
  readonly limiter: string
  /** True if refusals of this key are enforced. False if the key is not in the share of the keys that the option `enforce` sets. */
  readonly enforced: boolean
  readonly request: Request
  readonly response: Response
}

/** The event that hooks and channels get if `deny` refuses a request. The event has no decision, because nothing was counted. */
export interface DenialEvent<Request = unknown, Response = unknown> {
  /** The address of the refused client, as the framework's proxy setting determines it. Undefined if the address is not known. */
  readonly address: string | undefined
  /** The name of the limiter. */
  readonly limiter: string
  readonly request: Request
  readonly response: Response
}

/**
 * The event that the channel gets for a request without an address. Such a request is refused, because its client has
 * disconnected or its proxy reported no address. A request over a connection that never has addresses, such as a unix socket, is
 * not refused.
 */
export interface NoAddressEvent<Request = unknown, Response = unknown> {
  /** The name of the limiter. */
  readonly limiter: string
  /** True if the refusal is enforced. False if `shared` is true, or if the key is not in the share of the keys that `enforce` sets. */
  readonly enforced: boolean
  /** True if the request is not refused, because its connection never has addresses (a unix socket). Such requests share one limit. */
  readonly shared: boolean
  /** How many requests without an address this middleware has had, including this request. */
  readonly count: number
  readonly request: Request
  readonly response: Response
}

/** The event that hooks and channels get if the store could not decide a request. */
export interface StoreErrorEvent<Request = unknown, Response = unknown> extends StoreFailure {
  readonly request: Request
  readonly response: Response
}

/** The hooks of a middleware. If a hook throws or rejects, the request is not affected, and a warning is given once. */
export interface Hooks<Request, Response> {
  /** Called after every decision. Example: `({ decision, key }) => log.debug({ key, ...decision })`. */
  onDecision?: ((event: DecisionEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /** Called after every refusal, even if the refusal is not enforced. Example: `({ key }) => log.info({ refused: key })`. */
  onRefused?: ((event: DecisionEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /** Called for every request that `deny` refuses. Example: `({ address }) => log.info({ denied: address })`. */
  onDenied?: ((event: DenialEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /**
   * How a request is decided if the store fails. `'closed'` responds with status 503. `'throw'` passes the store's error to the
   * framework. `'open'` admits the request. `'local'` lets this process decide by its own count. A function gets each failure, and
   * may return one of these words. Default: `onStoreError` of the limiter, which is `'local'` by default. Example: `({ error }) =>
   * { log.error(error) }`.
   */
  onStoreError?: OnStoreError<StoreErrorEvent<Request, Response>> | undefined
}

const decisions = channel('headgate:decision')
const refusals = channel('headgate:refused')
const denials = channel('headgate:denied')
const addressless = channel('headgate:no-address')

/** Notifies hooks and channels. An event object is made only if there is a hook or a subscriber. */
export class RequestEvents<Request, Response> {
  readonly #limiter: string
  readonly #hooks: Hooks<Request, Response>
  /**
   * Passes the option `onStoreError` to each call of the limiter, if the option is a word such as `'open'`. Empty for a function or no
   * option.
   */
  readonly choice: { readonly onFailure?: OnFailure }
  /** How many requests without an address there were. */
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

  /** True if a hook or a subscriber wants decisions of this kind. @param allowed true for admitted requests, false for refused requests */
  listens(allowed: boolean): boolean {
    if (this.#hooks.onDecision !== undefined || decisions.hasSubscribers) return true
    return !allowed && (this.#hooks.onRefused !== undefined || refusals.hasSubscribers)
  }

  decided(decision: Decision, key: Key, enforced: boolean, request: Request, response: Response): void {
    const event = { decision, key, limiter: this.#limiter, enforced, request, response }
    notify('onDecision', this.#hooks.onDecision, decisions, event)
    if (!decision.allowed) notify('onRefused', this.#hooks.onRefused, refusals, event)
  }

  /** Notifies hooks and channels that `deny` refused a request. The address is computed only if there is a listener. */
  denied(framework: Framework<Request, Response>, request: Request, response: Response): void {
    const { onDenied } = this.#hooks
    if (onDenied === undefined && !denials.hasSubscribers) return
    const event = { address: framework.address(request), limiter: this.#limiter, request, response }
    notify('onDenied', onDenied, denials, event)
  }

  /** Notifies the channel of a request without an address. Such requests are counted even if there is no subscriber. */
  noAddress(shared: boolean, enforced: boolean, request: Request, response: Response): void {
    const count = ++this.#addressless
    if (!addressless.hasSubscribers) return
    const limiter = this.#limiter
    addressless.publish({ limiter, enforced, shared, count, request, response } satisfies NoAddressEvent)
  }

  /**
   * The extra arguments of a call to the limiter. The argument `onFailure` passes a store error to the hook and to the channel.
   * @param usual the extra arguments of a call if no hook and no subscriber gets store errors
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
