import { whenEnded } from '../../src/http/held/index.ts'
import { type Framework, type RequestDecision, routeName } from '../../src/http/index.ts'
import type { TrustedProxies } from '../../src/http/keys/index.ts'
import { type NodePair, nodePair, pairBeside } from '../node-pair.ts'
import { addressView, type Finder, finderOver, toldFinder } from './address-view.ts'
import { type Answer, answerOf, answerWriter, isStatus } from './web-answer.ts'

declare global {
  interface Request {
    /** The decision of the last rate limiter that this request passed. */
    rateLimit?: RequestDecision
  }
}

/** The context, whose type differs in each runtime: the functions in the options may name that type. */
// biome-ignore lint/suspicious/noExplicitAny: with unknown, a function without annotations could read nothing
export type Any = any

/** Finds a text of a request. A method, so that a function may name the type of the runtime's own request. */
type Find<Context> = { find(request: Request, context: Context): string | undefined | null }['find']

/** What the options of a limiter get as request and as response: one call of a fetch handler. */
export interface FetchExchange<Context = Any> {
  readonly request: Request
  /** The second argument of the handler: the server in Bun, the info in Deno, `env` in a worker, the event in SvelteKit. */
  readonly context: Context
  /** The response of the handler, once there is one. For `count`. */
  readonly response: Response | undefined
}

/** The options that only this adapter has. */
export interface FetchOwnOptions<Context = Any> {
  /**
   * Returns the address of the client, from the runtime or a header that the platform sets, never text that the client
   * wrote. With `trustedProxies`, the address of the nearest proxy. Needed for a limit by address. Example: `(request,
   * server) => server.requestIP(request)?.address` in Bun.
   */
  address?: Find<Context> | undefined
  /**
   * How many proxies are in front, or their addresses and ranges. The address is then read from X-Forwarded-For, from its
   * end. Default: none, and that header is not believed. Example: `1`, or `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
  /**
   * The pattern of the route, for `byRoute`: one quota for all its methods. Never text that the client wrote. Default:
   * none. Example: `(request, event) => event.route.id` in SvelteKit.
   */
  route?: Find<Context> | undefined
}

type End = (status: number, aborted: boolean) => void

/** One call of a limiter. The answer belongs to all limiters of the request. */
export class FetchCall<Context> implements FetchExchange<Context> {
  readonly request: Request
  readonly context: Context
  readonly answer: Answer
  decision: RequestDecision | undefined
  #ends: Set<End> | undefined

  constructor(request: Request, context: Context) {
    this.request = request
    this.context = context
    this.answer = answerOf(request)
  }

  get response(): Response | undefined {
    return this.answer.response
  }

  /** The response of Node, which shows when it ends. Undefined in other runtimes. */
  get nodeResponse(): NodePair['res'] {
    return nodePair(this.request)?.res ?? pairBeside(this.context)?.res
  }

  /** Calls `done` once: when the response has ended, or at `finish`. */
  whenEnded(done: End): void {
    this.#ends ??= new Set()
    const ends = this.#ends
    const once: End = (status, aborted) => {
      if (ends.delete(once)) done(status, aborted)
    }
    ends.add(once)
    if (this.nodeResponse) whenEnded(this.nodeResponse, once)
    else this.answer.whenEnded(once, this.request.signal)
  }

  /** Ends the call, with or without a response. Without a status, the request counts. */
  finish(status?: number): void {
    for (const each of this.#ends ?? []) each(status ?? 0, !isStatus(status))
  }
}

/** The address at the other end of Node's socket; null where the runtime shows none. */
function peerOf(request: Request): string | undefined | null {
  const pair = nodePair(request)
  return pair === undefined ? null : pair.req?.socket.remoteAddress
}

/** A parameter of the route: Bun has them on the request, most frameworks on the context. */
function paramOf({ request, context }: FetchExchange, name: string): string | undefined {
  for (const holder of [context, request] as ({ params?: Record<string, unknown> } | undefined | null)[]) {
    const params = holder?.params
    const value = params && Object.hasOwn(params, name) ? params[name] : undefined
    if (typeof value === 'string') return value
  }
  return undefined
}

/** The functions that the guard needs from a fetch handler. Request and response are both the call. */
export function fetchFramework<Context>(
  own: FetchOwnOptions<Context> = {},
): Framework<FetchCall<Context>, FetchCall<Context>> {
  const finder: Finder<FetchCall<Context>> = {
    ...finderOver<FetchCall<Context>>(
      ({ request }) => nodePair(request),
      ({ request }) => request,
    ),
    peer: ({ request }) => peerOf(request),
  }
  const told = ({ request, context }: FetchCall<Context>) => own.address?.(request, context)
  return {
    ...addressView(own.trustedProxies, own.address === undefined ? finder : toldFinder(finder, told, 'address')),
    addressless: own.address === undefined,
    param: paramOf,
    route: ({ request, context }) => routeName(undefined, own.route?.(request, context) ?? undefined),
    attach(call, _response, decision) {
      call.decision = decision
      call.request.rateLimit = decision
    },
    attached: ({ request }) => request.rateLimit,
    headersSent: () => false,
    complete: () => false,
    ended: (call, done) => call.whenEnded(done),
    held: ({ answer, nodeResponse }) => answer.hold(nodeResponse),
    ...answerWriter<FetchCall<Context>>(({ answer }) => answer),
  }
}
