import type { Context } from 'hono'
import { getCookie } from 'hono/cookie'
import { type Framework, type RequestDecision, routeName } from '../src/http/index.ts'
import { isIncomplete, type TrustedProxies } from '../src/http/keys/index.ts'
import { type NodePair, nodePair, pairBeside, possibleResponse } from './node-pair.ts'
import { isStatus, lasting, statusOf } from './response-fields.ts'
import {
  addressView,
  answerOf,
  answerWriter,
  asksForWebSocket,
  type ClosingSocket,
  clientHasLeft,
  finderOver,
  toldFinder,
  whenAnswered,
} from './web/index.ts'

/** The part of the result of `getConnInfo` that has the client's address. */
export interface ConnInfo {
  readonly remote: { readonly address?: string | undefined }
}

/** The options of `rateLimit` that exist only in this adapter. A limit by address needs `connInfo` or `address`. */
export interface HonoOwnOptions {
  /**
   * The function `getConnInfo` for the runtime. Import `getConnInfo` from `@hono/node-server/conninfo`, `hono/bun`, `hono/deno` or
   * `hono/cloudflare-workers`. Example: `getConnInfo`.
   */
  connInfo?: ((context: Context) => ConnInfo) | undefined
  /**
   * Returns the client's address, for example from a header that the platform sets. A client must not be able to write the
   * address. Default: the address that `connInfo` returns. Example: `(c) => c.req.header('x-real-ip')` if nginx sets this header.
   */
  address?: ((context: Context) => string | undefined | null) | undefined
  /**
   * How many proxies are in front of the server, or their addresses and ranges. The client's address is then read from
   * X-Forwarded-For, starting at the end of the list. Default: no proxies, and X-Forwarded-For is ignored. Example: `1`, or
   * `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
}

/** Request and response of node:http, which @hono/node-server passes as the environment. Undefined on other servers. */
export function honoNodePair({ env }: Context): Partial<NodePair> | undefined {
  return pairBeside(env)
}

/** Request and response of node:http, from @hono/node-server or srvx. Undefined on other servers. */
function pairOf(context: Context): Partial<NodePair> | undefined {
  return honoNodePair(context) ?? nodePair(context.req.raw)
}

/** The response object of node:http, which emits an event when the response has ended. Undefined on other servers. */
function nodeResponse(context: Context): NodePair['res'] {
  return possibleResponse(context.req.raw, pairOf(context))
}

/** The socket of node:http for a request that asks for a WebSocket. @hono/node-server passes no response with such a request. */
function upgradeSocket(context: Context): ClosingSocket | undefined {
  const pair = pairOf(context)
  if (pair === undefined || pair.res !== undefined || !asksForWebSocket(context.req.raw.headers)) return undefined
  return pair.req?.socket as ClosingSocket | undefined
}

/** The route that matched. In `app.use`, Hono reports the pattern of the middleware, so the next matched handler is used. */
function matchedRoute(context: Context): { readonly method: string; readonly path: string } | undefined {
  // Hono below 4.8 has no function `matchedRoutes` in `hono/route`, so the list is read from the request.
  const routes = context.req.matchedRoutes.slice(context.req.routeIndex)
  // Handlers of `app.all` and middleware both have the method ALL, but a handler has one parameter, and middleware has two.
  return routes.find(({ method, handler }) => method !== 'ALL' || handler.length < 2)
}

/**
 * The client's address in connection info. If the info has no `remote`, such as a promise, returns the info, which
 * `toldFinder` refuses.
 */
function connected(info: ConnInfo | undefined): unknown {
  return info?.remote === undefined ? info : info.remote.address
}

/**
 * The client's address from `connInfo`. Undefined if the call has no environment, as in `app.request('/')`: then the functions
 * `getConnInfo` throw a TypeError.
 */
function addressTold({ connInfo }: HonoOwnOptions, context: Context): unknown {
  try {
    return connected(connInfo?.(context))
  } catch (error) {
    if (error instanceof TypeError && Object.keys(context.env ?? {}).length === 0) return undefined
    throw error
  }
}

/** The context for a function in `count`: with this response, even if code around the limit has put another one into the context. */
function withResponse(context: Context, response: Response | undefined): Context {
  if (response === undefined) return context
  return new Proxy(context, {
    get(target, name) {
      if (name === 'res') return response
      const value = Reflect.get(target, name, target)
      return typeof value === 'function' ? value.bind(target) : value
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  })
}

/** The functions that the guard (code for all frameworks) needs from Hono. The context of Hono is both the request and the response. */
export function honoFramework(own: HonoOwnOptions = {}): Framework<Context, Context> {
  const finder = {
    ...finderOver(honoNodePair, (context: Context) => context.req.raw),
    incomplete: (context: Context) => isIncomplete(pairOf(context)?.req ?? {}),
  }
  const writer = answerWriter<Context>(answerOf)
  return {
    ...addressView(
      own.trustedProxies,
      own.address === undefined
        ? toldFinder(finder, (context) => addressTold(own, context), 'connInfo')
        : toldFinder(finder, (context) => own.address?.(context), 'address'),
    ),
    addressless: own.connInfo === undefined && own.address === undefined ? 'connInfo: getConnInfo' : undefined,
    cookie: (context, name) => getCookie(context, name),
    param: ({ req }, name) => req.param(name as never) as string | undefined,
    route(context) {
      const route = matchedRoute(context)
      return routeName(route?.method === 'ALL' ? undefined : route?.method, route?.path ?? '404')
    },
    attach: (context, _response, decision) => context.set('rateLimit', decision),
    attached: (context) => context.get('rateLimit') as RequestDecision | undefined,
    headersSent: ({ finalized }) => finalized,
    complete: ({ finalized }) => finalized,
    ended(context, done, answered) {
      let behind: Response | undefined
      let threw = false
      answerOf(context).tell = (response, isError = false) => {
        behind = lasting(response)
        threw = isError
        answered?.(response.status)
      }
      // An inner request may ask for the same path as the outer request, whose response of node:http has another status.
      const ended = (status: number, aborted: boolean) => {
        const last = context.finalized ? context.res : undefined
        // On Node, the sent status is that of `onError` for an error, unless other code has replaced the failure by a success.
        const isAnswered = threw && status >= 400 && nodeResponse(context) !== undefined
        const response = isAnswered ? (last?.status === status ? last : undefined) : (behind ?? last)
        // After an error that no `onError` has answered, the context has no response.
        const sent = response ?? (isStatus(status) && status >= 200 ? new Response(null, { status }) : undefined)
        done(statusOf(response, status), aborted, withResponse(context, sent))
      }
      const answer = answerOf(context)
      answer.dropsBodyOfHead = true
      whenAnswered(answer, context.req.raw, pairOf(context), ended, upgradeSocket(context))
    },
    left: (context) => clientHasLeft(nodeResponse(context), context.req.raw),
    held: (context, inFlight) => answerOf(context).hold(inFlight, nodeResponse(context), upgradeSocket(context)),
    ...writer,
    setStatus(context, status) {
      answerOf(context).status = status
      // Set the status before `refuse` runs, so that responses of `refuse`, such as `c.text(...)`, have the status.
      context.status(status as 429)
    },
    ownStatus: (context) => context.body(null).status, // Hono shows the status of a later response only on a response
    clearRefusal(context) {
      writer.clearRefusal?.(context)
      context.status(200)
    },
  }
}
