import { atOnce, isPromise, type MaybePromise } from '../../src/common/index.ts'
import { workOf } from '../../src/http/held/index.ts'
import { type Framework, type RequestDecision, routeName } from '../../src/http/index.ts'
import { cookieIn, isIncomplete, type TrustedProxies } from '../../src/http/keys/index.ts'
import { type NodePair, nodePair, pairBeside, possibleResponse } from '../node-pair.ts'
import { isResponse, isStatus, lasting, statusOf } from '../response-fields.ts'
import { answerOf } from './answer-of.ts'
import { answerWriter } from './answer-writer.ts'
import { addressView, clientHasLeft, type Finder, finderOver, toldFinder } from './client-address.ts'
import type { Answer } from './web-answer.ts'
import { whenAnswered } from './when-answered.ts'

declare global {
  interface Request {
    /** The decision of the last rate limiter that this request passed. */
    rateLimit?: RequestDecision
  }
}

/** The type of the context, which is different in each runtime. A function in the options may declare its own type. */
// biome-ignore lint/suspicious/noExplicitAny: with unknown, a function without a declared type could not read the context
export type Any = any

/**
 * A function that finds a text for a request, such as the client's address. Declared as a method, so that a user's function
 * may declare the request type of its runtime.
 */
type Find<Context> = { find(request: Request, context: Context): string | undefined | null }['find']

/** One call of a fetch handler. The functions in the options of a limiter get this object as the request and as the response. */
export interface FetchExchange<Context = Any> {
  readonly request: Request
  /** The second argument of the handler: the server in Bun, the info in Deno, `env` in a worker, the event in SvelteKit. */
  readonly context: Context
  /**
   * The response of the handler, for the option `count`. If the handler has thrown an error, or the application has called `end` with a
   * status, a Response that has only the status. Undefined while the handler runs.
   */
  readonly response: Response | undefined
}

/** The options of `rateLimit` that exist only in this adapter. */
export interface FetchOwnOptions<Context = Any> {
  /**
   * Returns the client's address, from the runtime or from a header that the platform sets. A client must not be able to write
   * the address. With `trustedProxies`, return the address of the nearest proxy. Required for a limit by address. Example:
   * `(request, server) => server.requestIP(request)?.address` in Bun.
   */
  address?: Find<Context> | undefined
  /**
   * How many proxies are in front of the server, or their addresses and ranges. The client's address is then read from
   * X-Forwarded-For, starting at the end of the list. Default: no proxies, and X-Forwarded-For is ignored. Example: `1`, or
   * `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
  /**
   * Returns the pattern of the route, for `byRoute`. All methods of the route share one quota. A client must not be able to write
   * the pattern. Default: no pattern. Example: `(request, event) => event.route.id` in SvelteKit.
   */
  route?: Find<Context> | undefined
}

type End = (status: number, aborted: boolean) => void

/** One call of a limiter for a request. All limiters of the request share one `Answer`, which collects their header fields. */
export class FetchCall<Context> implements FetchExchange<Context> {
  readonly request: Request
  readonly context: Context
  answer: Answer
  decision: RequestDecision | undefined
  readonly #limit: object
  /** The response of the handler behind this limit. The response of the Answer may be that of a handler around it. */
  #own: Response | undefined
  /** The status of what the handler behind this limit has thrown. */
  #thrown: number | undefined
  #ends: Set<End> | undefined
  #answered: ((status: number) => void) | undefined

  /** @param limit the limit that decides, which may decide on a Request several times at once, such as for each part of a batch */
  constructor(request: Request, context: Context, limit: object) {
    this.request = request
    this.context = context
    this.#limit = limit
    this.answer = answerOf(request, limit)
  }

  /** The Answer for a call that holds units: a new one if another handler has answered this Request while the limit decided. */
  held(): Answer {
    if (this.answer.used) this.answer = answerOf(this.request, this.#limit)
    // Next.js drops the body of a response to HEAD, but its edge runtime reads the body.
    if ('nextUrl' in this.request && !('EdgeRuntime' in globalThis)) this.answer.dropsBodyOfHead = true
    return this.answer
  }

  get response(): Response | undefined {
    return this.#own ?? this.answer.response
  }

  /** True if the guard admits the call. If a function in the options throws, ends the call, because no handler will. */
  decide(guard: {
    check(call: FetchCall<Context>, same: FetchCall<Context>): MaybePromise<boolean>
  }): MaybePromise<boolean> {
    try {
      const admitted = guard.check(this, this)
      return typeof admitted === 'boolean' ? admitted : admitted.catch((error) => this.#failed(error))
    } catch (error) {
      return this.#failed(error)
    }
  }

  #failed(error: unknown): never {
    void this.finish(500)
    throw error
  }

  /** Sets the fields on the response of the handler. If the response is undefined, as after an upgrade to WebSocket, ends the call. */
  apply<Given extends Response | undefined>(given: Given): Given {
    if (given === undefined || given === null) void this.finish()
    const response = this.answer.apply(given, this.request)
    this.#own = isResponse(response) ? lasting(response) : undefined
    if (isResponse(response)) this.#tell(response.status)
    return response
  }

  /**
   * Ends the call, whose handler has thrown this value, for which the framework sends this status. Resolves after the store knows of the
   * end.
   */
  fail(thrown: unknown, status: number): Promise<unknown> {
    this.#thrown = status
    this.#own = isResponse(thrown) && isStatus(thrown.status) ? thrown : bare(status)
    this.#tell(status)
    return Promise.all([this.answer.told, workOf(() => this.answer.end(status, false))])
  }

  #tell(status: number): void {
    const answered = this.#answered
    if (answered !== undefined) this.answer.told = Promise.all([this.answer.told, workOf(() => answered(status))])
  }

  /** The response of node:http, which reports its end. Undefined in other runtimes. */
  get nodeResponse(): NodePair['res'] {
    return possibleResponse(this.request, this.#pair)
  }

  get #pair(): Partial<NodePair> | undefined {
    return nodePair(this.request) ?? pairBeside(this.context)
  }

  /** Calls `done` once: after the response has ended, or in `finish`. Calls `answered` with the response of the handler. */
  whenEnded(done: End, answered: ((status: number) => void) | undefined): void {
    this.#answered = answered
    this.#ends ??= new Set()
    const ends = this.#ends
    const once: End = (status, aborted) => {
      if (ends.delete(once)) done(status, aborted)
    }
    ends.add(once)
    const sent: End = (status, aborted) => once(this.#thrown ?? statusOf(this.response, status), aborted)
    whenAnswered(this.held(), this.request, this.#pair, sent)
  }

  /**
   * Ends the call of a limiter. Without a valid status, the end is reported as aborted, so the request counts. Resolves after the store
   * knows of the end.
   */
  async finish(status?: number): Promise<void> {
    if (isStatus(status)) this.#own ??= bare(status)
    const ended = workOf(() => {
      for (const each of this.#ends ?? []) each(status ?? 0, !isStatus(status))
    })
    await Promise.all([this.answer.told, ended])
  }
}

/** A Response that has only a status. Undefined for a status below 200, which no Response can have. */
function bare(status: number): Response | undefined {
  return status < 200 ? undefined : new Response(null, { status })
}

/** The address at the other end of Node's socket. Null in a runtime that does not show the socket. */
function peerOf(request: Request): string | undefined | null {
  const pair = nodePair(request)
  return pair === undefined ? null : pair.req?.socket.remoteAddress
}

type Params = Readonly<Record<string, unknown>> | undefined

/**
 * A parameter of the route. Bun has the parameters on the request, Next.js has a promise of them, and most frameworks have them on the
 * context.
 */
function paramOf({ request, context }: FetchExchange, name: string): MaybePromise<string | undefined> {
  for (const holder of [context, request] as ({ params?: MaybePromise<Params> } | undefined | null)[]) {
    const params = holder?.params
    if (isPromise(params)) return Promise.resolve(params).then((found) => paramIn(found, name))
    const value = paramIn(params, name)
    if (value !== undefined) return value
  }
  return undefined
}

/** The parts of a parameter for several segments are joined by `/`. A matcher of SvelteKit may return a number, a bigint or a boolean. */
function paramIn(params: Params, name: string): string | undefined {
  const value = params && Object.hasOwn(params, name) ? params[name] : undefined
  const text = Array.isArray(value) ? value.join('/') : value
  return typeof text === 'object' || text === undefined ? undefined : String(text)
}

/** The cookies of a NextRequest, an event of SvelteKit or a request of Bun. Some have texts, and some have objects. */
interface OwnCookies {
  get(name: string): string | { readonly value: string } | null | undefined
}

/**
 * A cookie as the application reads it: by `cookies` of the request or of the context. Elsewhere, applications read cookies by different
 * rules, and read the first or the last cookie of a name.
 */
function cookieOf({ request, context }: FetchExchange, name: string): string | undefined {
  for (const holder of [request, context] as ({ readonly cookies?: OwnCookies } | undefined | null)[]) {
    if (typeof holder?.cookies?.get !== 'function') continue
    const own = holder.cookies.get(name)
    return (typeof own === 'string' ? own : own?.value) ?? undefined
  }
  return cookieIn(request.headers.get('cookie') ?? '', name, true)
}

/**
 * The functions that the guard (code for all frameworks) needs from a fetch handler. The guard gets the same `FetchCall` as its
 * request and as its response.
 */
export function fetchFramework<Context>(
  own: FetchOwnOptions<Context> = {},
): Framework<FetchCall<Context>, FetchCall<Context>> {
  const finder: Finder<FetchCall<Context>> = {
    ...finderOver<FetchCall<Context>>(
      ({ request }) => nodePair(request),
      ({ request }) => request,
    ),
    peer: ({ request }) => peerOf(request),
    incomplete: ({ request, context }) => isIncomplete((nodePair(request) ?? pairBeside(context))?.req ?? {}),
  }
  const told = ({ request, context }: FetchCall<Context>) => own.address?.(request, context)
  return {
    ...addressView(own.trustedProxies, own.address === undefined ? finder : toldFinder(finder, told, 'address')),
    addressless: own.address === undefined ? 'address: (request, context) => ...' : undefined,
    param: paramOf,
    cookie: cookieOf,
    route: ({ request, context }) => routeName(undefined, atOnce(own.route?.(request, context), 'route') ?? undefined),
    attach({ request }, _response, decision) {
      request.rateLimit = decision
    },
    keep(call, decision) {
      call.decision = decision
    },
    attached: ({ request }) => request.rateLimit,
    identity: ({ request }) => request,
    headersSent: () => false,
    complete: () => false,
    ended: (call, done, answered) => call.whenEnded(done, answered),
    left: ({ nodeResponse, request }) => clientHasLeft(nodeResponse, request),
    held: (call, inFlight) => call.held().hold(inFlight, call.nodeResponse),
    ...answerWriter<FetchCall<Context>>(({ answer }) => answer),
  }
}
