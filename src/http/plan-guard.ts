import type { Key, RateLimiter } from '../limiter.ts'
import type { PlanLike } from '../limiter-options.ts'
import { isPromise, type MaybePromise } from '../maybe-promise.ts'
import { defaultScope } from '../policy.ts'
import { Events } from './events.ts'
import { type Exemption, Exemptions } from './exemptions.ts'
import type { Framework } from './framework.ts'
import { FunctionDeadline } from './function-deadline.ts'
import { Guard } from './guard.ts'
import type { GuardOptions } from './guard-options.ts'
import { handle } from './handle.ts'
import { onPlatform } from './keys/declared-platform.ts'
import { findKey } from './keys/find-key.ts'
import type { KeyExtractor } from './keys/key-extractor.ts'
import { scopeExtractors } from './keys/scope-extractors.ts'
import { PlanLimiter } from './plan-limiter.ts'
import type { PlanOptions, PoliciesOf } from './rate-limit-options.ts'
import { inheritedOf, readPlanOptions } from './read-options.ts'
import { Refusal } from './refusal.ts'

/** A guard whose policies are a function of the request: it has a guard for each plan, and chooses one. */
export class PlanGuard<Request, Response> {
  readonly limiter: PlanLimiter
  /** The options that nested limits inherit. */
  readonly inherited: GuardOptions<Request, Response>
  readonly #framework: Framework<Request, Response>
  readonly #policies: PoliciesOf<Request, Response>
  readonly #extractors: readonly KeyExtractor<Request, Response>[]
  readonly #scopes: readonly string[]
  readonly #exemptions: Exemptions<Request, Response>
  readonly #deadline: FunctionDeadline
  readonly #events: Events<Request, Response>
  readonly #refusal: Refusal<Request, Response>
  /** The options of every plan's guard. The exemptions come first, so they are not among them. */
  readonly #options: GuardOptions<Request, Response>
  readonly #guards = new WeakMap<RateLimiter, Guard<Request, Response>>()

  /**
   * @param defaults options that `plans` may override
   * @throws HeadgateError if an option is invalid
   */
  constructor(
    framework: Framework<Request, Response>,
    plans: PlanOptions<Request, Response>,
    defaults: GuardOptions<Request, Response> = {},
  ) {
    const { parts, options } = readPlanOptions(plans, defaults)
    this.limiter = new PlanLimiter(parts)
    this.inherited = inheritedOf(options)
    this.#framework = onPlatform(framework, options.keys)
    this.#policies = plans.policies
    this.#exemptions = new Exemptions(this.#framework, options)
    this.#deadline = new FunctionDeadline(options.functionTimeout)
    this.#events = new Events(parts.name ?? 'default', options)
    this.#refusal = new Refusal(framework, options, parts.penalty)
    this.#options = { ...options, skip: undefined, allow: undefined, deny: undefined }
    // Which scopes the plans have is not known: `key()` gives a key for each extractor.
    const { keys } = options
    this.#scopes = typeof keys === 'object' ? scopesOf(keys) : [defaultScope]
    this.#extractors = scopeExtractors(keys, this.#scopes, false)
    new Guard(framework, '1/1s token-bucket', { ...this.#options, keys: undefined }, 'plans') // throws now if an option is invalid
  }

  /** As `Guard.check`. Also throws or rejects with an error of the function that returns the policies. */
  check(request: Request, response: Response): MaybePromise<boolean> {
    const exemption = this.#exemptions.of(request, response, () => this.#keyOf(request, response))
    return isPromise(exemption)
      ? this.#exemptLater(exemption, request, response)
      : this.#exempt(exemption, request, response)
  }

  /** As `Guard.handle`. */
  handle(request: Request, response: Response, next: (error?: unknown) => void): MaybePromise<void> {
    return handle(this, request, response, next)
  }

  #exempt(exemption: Exemption, request: Request, response: Response): MaybePromise<boolean> {
    if (exemption === 'exempt') return true
    if (exemption === 'denied') return this.#deny(request, response)
    const plan = this.#policies(request, response, () => this.#keyOf(request, response))
    if (isPromise(plan)) return this.#checkLater(plan, request, response)
    return this.#guardOf(plan).check(request, response)
  }

  async #exemptLater(exemption: Promise<Exemption>, request: Request, response: Response): Promise<boolean> {
    return this.#exempt(await this.#deadline.bound(exemption, 'skip'), request, response)
  }

  async #checkLater(plan: Promise<PlanLike>, request: Request, response: Response): Promise<boolean> {
    return this.#guardOf(await this.#deadline.bound(plan, 'policies')).check(request, response)
  }

  #keyOf(request: Request, response: Response): MaybePromise<Key | false> {
    return findKey(this.#extractors, this.#scopes, request, this.#framework, response)
  }

  #deny(request: Request, response: Response): boolean {
    this.#events.denied(this.#framework, request, response)
    return this.#refusal.deny(request, response)
  }

  #guardOf(plan: PlanLike): Guard<Request, Response> {
    const limiter = this.limiter.under(plan)
    let guard = this.#guards.get(limiter)
    if (guard === undefined) {
      guard = new Guard(this.#framework, limiter, this.#options, 'plans')
      this.#guards.set(limiter, guard)
    }
    return guard
  }
}

function scopesOf(keys: object): readonly string[] {
  return Object.entries(keys).flatMap(([scope, extractor]) => (extractor === undefined ? [] : [scope]))
}
