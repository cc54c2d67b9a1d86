import type { Context } from 'hono'
import { whenEnded } from '../src/http/held/index.ts'
import { type Framework, type RequestDecision, routeName } from '../src/http/index.ts'
import type { TrustedProxies } from '../src/http/keys/index.ts'
import { type NodePair, pairBeside, nodePair as pairOf } from './node-pair.ts'
import { addressView, answerOf, answerWriter, finderOver, toldFinder } from './web/index.ts'

/** The part of the result of `getConnInfo` that has the address. */
export interface ConnInfo {
  readonly remote: { readonly address?: string | undefined }
}

/** The options that only this adapter has. A limit by address needs one of them. */
export interface HonoOwnOptions {
  /**
   * `getConnInfo` of the runtime: from `@hono/node-server/conninfo`, `hono/bun`, `hono/deno` or `hono/cloudflare-workers`.
   * Example: `getConnInfo`.
   */
  connInfo?: ((context: Context) => ConnInfo) | undefined
  /**
   * Returns the address of the client, from a header that the platform sets, never text that the client wrote. Default:
   * that of `connInfo`. Example: `(c) => c.req.header('x-real-ip')` behind nginx that sets it.
   */
  address?: ((context: Context) => string | undefined | null) | undefined
  /**
   * How many proxies are in front, or their addresses and ranges. The address is then read from X-Forwarded-For, from its
   * end. Default: none, and that header is not believed. Example: `1`, or `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
}

/** Request and response of Node, which @hono/node-server passes as the environment. */
export function honoNodePair({ env }: Context): Partial<NodePair> | undefined {
  return pairBeside(env)
}

/** The response of Node, which shows when it ends. Undefined on other servers. */
function nodeResponse(context: Context): NodePair['res'] {
  return honoNodePair(context)?.res ?? pairOf(context.req.raw)?.res
}

/** The pattern of the route. In `app.use`, the current pattern is the middleware's, so look for the next handler. */
function matchedRoute(context: Context): { readonly method: string; readonly path: string } | undefined {
  // The helper in `hono/route` is missing before Hono 4.8.
  const routes = context.req.matchedRoutes.slice(context.req.routeIndex)
  // Middleware takes every method and a second parameter; a handler of `app.all` takes one.
  return routes.find(({ method, handler }) => method !== 'ALL' || handler.length < 2)
}

/** The address of a connection. A value without an address, such as a promise, is returned and refused later. */
function connected(info: ConnInfo | undefined): unknown {
  return info?.remote === undefined ? info : info.remote.address
}

/** The functions that the guard needs from Hono. Request and response are both the context. */
export function honoFramework(own: HonoOwnOptions = {}): Framework<Context, Context> {
  const finder = finderOver(honoNodePair, (context: Context) => context.req.raw)
  const writer = answerWriter<Context>(answerOf)
  return {
    ...addressView(
      own.trustedProxies,
      own.address === undefined
        ? toldFinder(finder, (context) => connected(own.connInfo?.(context)), 'connInfo')
        : toldFinder(finder, (context) => own.address?.(context), 'address'),
    ),
    addressless: own.connInfo === undefined && own.address === undefined,
    param: ({ req }, name) => req.param(name as never) as string | undefined,
    route(context) {
      const route = matchedRoute(context)
      return routeName(route?.method === 'ALL' ? undefined : route?.method, route?.path)
    },
    attach: (context, _response, decision) => context.set('rateLimit', decision),
    attached: (context) => context.get('rateLimit') as RequestDecision | undefined,
    headersSent: ({ finalized }) => finalized,
    complete: ({ finalized }) => finalized,
    ended(context, done) {
      const response = nodeResponse(context)
      if (response) whenEnded(response, done)
      else answerOf(context).whenEnded(done, context.req.raw.signal)
    },
    held: (context) => answerOf(context).hold(nodeResponse(context)),
    ...writer,
    setStatus(context, status) {
      answerOf(context).status = status
      // Set the status before `refuse` runs, so that c.text(...) and the like get it.
      context.status(status as 429)
    },
    clearRefusal(context) {
      writer.clearRefusal?.(context)
      context.status(200)
    },
  }
}
