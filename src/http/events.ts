import { channel } from '#platform'
import type { Details } from '../algorithms/evaluation.ts'
import type { Decision } from '../decision.ts'
import { checkChoice, choose, type OnStoreError, type StoreFailure, storeErrors } from '../failure/on-store-error.ts'
import type { Key } from '../limiter.ts'
import type { MaybePromise } from '../maybe-promise.ts'
import { isPromise } from '../maybe-promise.ts'
import { callback } from '../options.ts'
import type { Channel } from '../platform/platform.ts'
import type { CallExtras, Choice } from '../stores/store.ts'
import { reason, warnOnce } from '../warn.ts'

/** What hooks and channels are told of a decision. Of Koa, request and response are both the context. */
export interface DecisionEvent<Request = unknown, Response = unknown> {
  readonly decision: Decision
  /** Who was limited: the key, or one for each scope. */
  readonly key: Key
  /** The limiter's name. */
  readonly limiter: string
  /** Whether a refusal of this key is enforced: false under `shadow`, and outside the share of `enforce`. */
  readonly enforced: boolean
  readonly request: Request
  readonly response: Response
}

/** What hooks and channels are told of a request that the store could not decide. */
export interface StoreErrorEvent<Request = unknown, Response = unknown> extends StoreFailure {
  readonly request: Request
  readonly response: Response
}

/** Functions that are told and cannot break anything: what they throw or reject with is one warning. */
export interface Hooks<Request, Response> {
  /** Every decision. */
  onDecision?: ((event: DecisionEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /** Every refusal, enforced or not. */
  onRefused?: ((event: DecisionEvent<Request, Response>) => MaybePromise<unknown>) | undefined
  /**
   * What happens to requests that the store cannot decide: `'deny'` answers 503, `'allow'` lets them through, `'local'`
   * decides them in this process. Or a function that is told of each and may say. Default: the limiter's, `'local'`.
   */
  onStoreError?: OnStoreError<StoreErrorEvent<Request, Response>> | undefined
}

const decisions = channel('headgate:decision')
const refusals = channel('headgate:refused')

/** Tells hooks and channels. An event is made only if somebody listens. */
export class Events<Request, Response> {
  readonly #limiter: string
  readonly #hooks: Hooks<Request, Response>
  /** What a call is told that nobody listens to: the choice, if there is one. */
  readonly #choice: CallExtras

  constructor(limiter: string, { onDecision, onRefused, onStoreError }: Hooks<Request, Response>) {
    this.#limiter = limiter
    callback(onDecision, 'onDecision', '({ decision, key }) => ...')
    callback(onRefused, 'onRefused', '({ decision, key }) => ...')
    checkChoice(onStoreError, 'onStoreError')
    this.#choice = typeof onStoreError === 'string' ? { onFailure: () => onStoreError } : {}
    this.#hooks = { onDecision, onRefused, onStoreError }
  }

  /** Whether anybody listens to decisions of this kind. */
  listens(allowed: boolean): boolean {
    if (this.#hooks.onDecision !== undefined || decisions.hasSubscribers) return true
    return !allowed && (this.#hooks.onRefused !== undefined || refusals.hasSubscribers)
  }

  decided(decision: Decision, key: Key, enforced: boolean, request: Request, response: Response): void {
    const event = { decision, key, limiter: this.#limiter, enforced, request, response }
    tell('onDecision', this.#hooks.onDecision, decisions, event)
    if (!decision.allowed) tell('onRefused', this.#hooks.onRefused, refusals, event)
  }

  /** What a call carries so that, if the store fails it, hook and channel are told and the choice is made. */
  extras(details: Details, key: Key, request: Request, response: Response): CallExtras {
    if (typeof this.#hooks.onStoreError !== 'function' && !storeErrors.hasSubscribers) {
      return { ...details, ...this.#choice }
    }
    return { ...details, onFailure: (error) => this.storeFailed(error, key, request, response) }
  }

  storeFailed(error: unknown, key: Key, request: Request, response: Response): Choice | undefined {
    const event = { error, key, limiter: this.#limiter, request, response }
    if (storeErrors.hasSubscribers) storeErrors.publish(event)
    return choose(this.#hooks.onStoreError, event)
  }
}

function tell<Event>(name: string, hook: ((event: Event) => unknown) | undefined, to: Channel, event: Event): void {
  if (to.hasSubscribers) to.publish(event)
  if (hook === undefined) return
  const broken = (error: unknown) => {
    warnOnce('HEADGATE_HOOK', `${name} threw; requests go on without it. Catch in the hook. ${reason(error)}`, name)
  }
  try {
    const told = hook(event)
    if (isPromise(told)) told.then(undefined, broken)
  } catch (error) {
    broken(error)
  }
}
