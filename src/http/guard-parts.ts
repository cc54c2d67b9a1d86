import type { RateLimiter } from '../limiter/index.ts'
import type { Enforcement } from './enforced-share.ts'
import type { Framework } from './framework.ts'
import type { FunctionDeadline } from './function-deadline.ts'
import type { GuardOptions } from './guard-options.ts'
import type { Attachment, CountedRequests, Delay } from './held/index.ts'
import type { Refusal } from './refusal/index.ts'
import type { RequestEvents } from './request-events.ts'

/** The parts of a guard (the middleware's check of requests) that all plans (lists of policies) of the guard share. */
export interface GuardParts<Request, Response> {
  readonly framework: Framework<Request, Response>
  readonly options: GuardOptions<Request, Response>
  readonly deadline: FunctionDeadline
  readonly enforcement: Enforcement
  readonly events: RequestEvents<Request, Response>
  readonly refusal: Refusal<Request, Response>
  readonly attachment: Attachment<Request, Response>
  /** The decisions of the limit about each request. The guards of routes that have a cost of their own share this object. */
  readonly counted: CountedRequests<Request, Response>
  /** The queues of the option `delay`. The guards of routes that change other options share these queues. */
  readonly delays: WeakMap<RateLimiter, Delay>
  /** True for a route with a cost of its own: the decision replaces the limit's earlier decision about the same request. */
  readonly byRoute: boolean
}
