import { monotonicClock } from '../../clock.ts'
import type { Decision } from '../../decision.ts'
import type { PackedPlan } from './packed-plan.ts'
import type { PendingLease } from './pending-lease.ts'
import type { RedisContext } from './redis-context.ts'
import { type RequestExtras, ScriptRequest } from './script-request.ts'
import { decisionOf, type ScriptResponse } from './script-response.ts'

const ignore = (): void => {}

/** A request for units. It caches what decides later requests locally: a refusal, or leased units. */
export class ConsumeRequest extends ScriptRequest {
  readonly #context: RedisContext
  readonly #cost: number
  /** The local time of the request, and how often the deny cache and the leases had changed by then. */
  readonly #sent: number
  readonly #denyCacheVersion: number
  readonly #leasesVersion: number
  /** The lease that this request asks for. */
  lease: PendingLease | undefined
  decided: (decision: Decision) => void = ignore

  constructor(
    context: RedisContext,
    plan: PackedPlan,
    keys: readonly string[],
    cost: number,
    now: number,
    extras: RequestExtras,
  ) {
    super(plan, 'consume', keys, cost, now, extras)
    const { denyCache, leases, clock } = context
    this.#context = context
    this.#cost = cost
    this.#sent = (clock ?? monotonicClock)()
    denyCache?.forgetOtherPlans(plan, keys)
    this.#denyCacheVersion = denyCache?.version ?? 0
    this.#leasesVersion = leases?.version ?? 0
  }

  override receive(response: ScriptResponse): void {
    this.decided(this.decide(response))
  }

  decide(response: ScriptResponse): Decision {
    const { plan, keys, extras } = this
    const { denyCache, leases } = this.#context
    denyCache?.forgetOtherPlans(plan, keys)
    if (!response.allowed && extras.cacheable === true) {
      denyCache?.add(plan, keys, this.#cost, response, this.#sent, this.#denyCacheVersion)
    }
    if (this.lease !== undefined) {
      leases?.add(plan, keys, response, this.#sent, this.#leasesVersion)
      leases?.arrived(this.lease, keys)
    }
    return decisionOf(plan.policies, response, extras.details)
  }
}
