import { invalidOption, type MaybePromise, misplaced } from '../src/common/index.ts'
import {
  type Cost,
  createGuard,
  functionOption,
  type Guard,
  type GuardOptions,
  type LimiterOf,
  ownOptions,
  type Policies,
  type PoliciesOf,
  type RateLimitArgument,
  type RequestDecision,
} from '../src/http/index.ts'
import { trustedProxiesOption } from '../src/http/keys/index.ts'
import type { PlanLimiter, PolicyLikes, RateLimiter } from '../src/limiter/index.ts'
import { isInvalid } from './lambda.ts'
import { isResponse, isStatus } from './response-fields.ts'
import { type Any, FetchCall, type FetchExchange, type FetchOwnOptions, fetchFramework } from './web/index.ts'

export { type LambdaEvent, type LambdaResult, lambdaAddress, lambdaRequest, lambdaResult } from './lambda.ts'
export { type FetchExchange, fetchFramework }

/**
 * What a limiter for fetch handlers returns for one request. `response` is a refusal, or has status 400 for an invalid event of AWS Lambda.
 * Return `response`, and do nothing else with the request. `response` is undefined if the request is admitted. `decision` is the decision
 * about the request: undefined if `deny` refuses the request, or if the request is refused because the store has failed.
 */
export type FetchResult = FetchEnds &
  (
    | { readonly response: undefined; readonly decision: RequestDecision }
    | { readonly response: Response; readonly decision: RequestDecision | undefined }
  )

/** What a limiter for fetch handlers returns for every request. */
interface FetchEnds {
  /** The rate limit fields for the response, by their names. */
  readonly headers: Record<string, string>
  /**
   * Returns the response with the rate limit fields: the same object, or a copy if the headers are immutable. If the limit has the option
   * `count`, or a policy that counts unfinished requests (units in flight), the end of the response's body ends the request. If the
   * response is undefined, as after an upgrade to WebSocket, `apply` does the same as `end()`. For such a limit, throws `HEADGATE_NO_END`
   * if the response only tells Next.js to pass the request on, because the limiter cannot see the end of the final response.
   */
  apply<Given extends Response | undefined>(response: Given): Given
  /**
   * Ends the request, for a handler that returns no Response. The units in flight become free immediately. The option `count` gets the
   * status. If the status is left out, the request counts. Resolves after the store knows of the end, or after 2 s. Await the promise if the
   * platform stops the process after a response. In Cloudflare Workers, resolves immediately.
   * Example: `await result.end(200)` before a Lambda function returns its own result.
   */
  end(status?: number): Promise<void>
}

/** A request that a wrapped handler gets, with its decision. Example: `limit.wrap((request: RateLimited<NextRequest>) => ...)`. */
export type RateLimited<Given extends Request = Request> = Given & { readonly rateLimit: RequestDecision }

/** A function that decides about a request, for fetch handlers. */
interface FetchLimit<Context> {
  /** Decides about a request. The promise rejects if a function in the options or a synchronous store throws. */
  (request: Request, context?: Context): Promise<FetchResult>
  /**
   * Wraps a handler, so that the handler gets only admitted requests. The rate limit fields are set on the handler's response.
   * The handler finds the decision on `request.rateLimit`, and gets all arguments of the wrapper.
   * @throws HeadgateError if the handler is not a function
   */
  wrap<Given extends Request, Rest extends unknown[] = Any[], Answered extends Response | undefined = Response>(
    handler: (request: RateLimited<Given>, ...rest: Rest) => MaybePromise<Answered>,
  ): (request: Given, ...rest: Rest) => Promise<Answered | Response>
}

/** A limiter for fetch handlers, which `rateLimit` returns. */
export interface FetchRateLimit<Context = Any, Limiter = RateLimiter> extends FetchLimit<Context> {
  /**
   * The same limit for a route with another cost: a number, a record with a number for each policy, a list of records, or a
   * function of the request, as in the option `cost`. If the limit has already counted the request, as with `app.use(limit)`, the units of
   * the first decision are given back. A second decision then takes the cost of the route, or refuses the request and takes nothing. Of
   * several such limits, the last one sets the cost. Example: `export const GET = limit.cost(5).wrap(search)`.
   * @throws HeadgateError `HEADGATE_COST` if the cost is invalid, or if every request would be refused
   */
  cost(cost: Cost<FetchExchange<Context>>): FetchLimit<Context>
  /** The limiter, for `peek`, `reset`, `ban` and `health()`. */
  readonly limiter: Limiter
}

type Exchange<Context> = FetchExchange<Context>
type Own<Context> = FetchOwnOptions<Context>
type AnyPolicies<Context> = Policies<Exchange<Context>, Exchange<Context>> | undefined
type Argument<Context, Given> = RateLimitArgument<Exchange<Context>, Exchange<Context>, Given, Own<Context>>
/** The options of `rateLimit` for fetch handlers, other than the policies. */
export type FetchOptions<Context = Any> = GuardOptions<Exchange<Context>, Exchange<Context>> & Own<Context>

/**
 * A limiter for fetch handlers: in Bun, Deno, workers, Next.js, SvelteKit, React Router and AWS Lambda. The functions in the
 * options get `{ request, context, response }`. `refuse` returns a Response, or a text, which is sent with status 429.
 *
 *     const limit = rateLimit('100/15m', { address: (request, server) => server.requestIP(request)?.address })
 *     Bun.serve({ fetch: limit.wrap((request) => new Response('hello')) })
 *
 * You can also call the limiter yourself, and use its result:
 *
 *     const result = await limit(request, context)
 *     if (result.response) return result.response
 *     return result.apply(new Response('hello'))
 *
 * @throws HeadgateError if a policy or an option is invalid, or if a limit by address has no option `address`
 */
export function rateLimit<Context = Any>(
  limit: Argument<Context, PolicyLikes>,
  options?: FetchOptions<Context>,
): FetchRateLimit<Context>
/** The overload for policies that are a function of `{ request, context }`. */
export function rateLimit<Context = Any, Given extends AnyPolicies<Context> = PoliciesOf<Exchange<Context>>>(
  limit: Argument<Context, Given>,
  options?: FetchOptions<Context>,
): FetchRateLimit<Context, LimiterOf<Given>>
export function rateLimit<Context, Given extends AnyPolicies<Context>>(
  first: Argument<Context, Given>,
  second?: FetchOptions<Context>,
): FetchRateLimit<Context, RateLimiter | PlanLimiter> {
  const { own, limit, options } = ownOptions<Own<Context>, Exchange<Context>, Exchange<Context>, Given>(
    checks,
    first,
    second,
  )
  const guard = createGuard<Call<Context>, Call<Context>>(fetchFramework(own), limit as never, options as never)
  const cost = (units: Cost<FetchExchange<Context>>) => limitOf(guard.withCost(units))
  return Object.assign(limitOf(guard), { limiter: guard.limiter, cost })
}

type FetchGuard<Context> = Pick<Guard<Call<Context>, Call<Context>>, 'check'>

function limitOf<Context>(guard: FetchGuard<Context>): FetchLimit<Context> {
  const check = async (request: Request, context?: Context): Promise<FetchResult> => {
    const call = callOf(request, context as Context, guard)
    const admitted = call.decide(guard)
    return resultOf(call, typeof admitted === 'boolean' ? admitted : await admitted)
  }
  const wrap = (handler: Handler) => {
    if (typeof handler !== 'function') throw notHandler(handler)
    return async (request: Request, ...rest: unknown[]): Promise<Response | undefined> => {
      const call = callOf(request, rest[0] as Context, guard)
      const admitted = call.decide(guard)
      const goesOn = typeof admitted === 'boolean' ? admitted : await admitted
      return goesOn ? answered(call, isInvalid(request) ? badRequest : handler, rest) : call.answer.refused(request)
    }
  }
  return Object.assign(check, { wrap: wrap as FetchLimit<Context>['wrap'] })
}

const checks = {
  address: functionOption('(request, context) => ...'),
  route: functionOption('(request, context) => ...'),
  trustedProxies: trustedProxiesOption,
}

type Call<Context> = FetchCall<Context>
type Handler = (request: Request, ...rest: unknown[]) => MaybePromise<Response | undefined>

function callOf<Context>(request: Request, context: Context, limit: object): Call<Context> {
  if (request?.arrayBuffer === undefined) throw misplaced('headgate/fetch')
  return new FetchCall(request, context, limit)
}

/** The error for a handler that is not there, as when two modules import each other. */
function notHandler(given: unknown) {
  return invalidOption('wrap: handler', 'a function', given, 'Write limit.wrap((request) => new Response()).')
}

function badRequest(): Response {
  return new Response(null, { status: 400 })
}

function resultOf(call: Call<unknown>, goesOn: boolean): FetchResult {
  const { answer, request } = call
  const invalid = goesOn && isInvalid(request) ? apply(call, badRequest()) : undefined
  const response = goesOn ? invalid : answer.refused(request)
  const result = {
    response,
    decision: call.decision,
    headers: answer.fields,
    apply: <Given extends Response | undefined>(given: Given) => apply(call, given),
    end: (status?: number) => call.finish(status),
  }
  return result as FetchResult
}

/** Runs the handler. If the handler throws, the error is thrown to the runtime. */
async function answered(call: Call<unknown>, handler: Handler, rest: unknown[]): Promise<Response | undefined> {
  const { answer, request } = call
  try {
    return apply(call, await answer.make(() => handler(request, ...rest)))
  } catch (error) {
    await call.fail(error, thrownStatus(error)) // Lambda freezes the process after the error
    throw error
  }
}

/**
 * The status that the framework sends for a thrown value: of a Response, of an error or redirect of SvelteKit or Next.js, or else 500.
 */
function thrownStatus(thrown: unknown): number {
  try {
    const { digest, location, status } = Object(thrown) as { digest?: unknown; location?: unknown; status?: unknown }
    if (thrown instanceof Error) {
      const [, kind, sent] = /^NEXT_(REDIRECT|HTTP_ERROR_FALLBACK);([45]\d\d$)?/.exec(String(digest)) ?? []
      return kind === 'REDIRECT' ? 307 : Number(sent ?? 500)
    }
    const isSent = isStatus(status) && (isResponse(thrown) || typeof location === 'string' || status >= 400)
    return isSent ? status : typeof location === 'string' ? 307 : 500
  } catch {
    return 500 // a getter has thrown
  }
}

/**
 * Sets the fields on a response, and ends the request when the response has ended. If the response is undefined, as after an upgrade to
 * WebSocket, ends the request immediately.
 */
function apply<Given extends Response | undefined>(call: Call<unknown>, given: Given): Given {
  const { isSubRequest, getClientAddress } = Object(call.context) as {
    isSubRequest?: unknown
    getClientAddress?: unknown
  }
  if (typeof isSubRequest === 'boolean' && typeof getClientAddress === 'function') call.answer.mayStayUnread = true
  return call.apply(given)
}
