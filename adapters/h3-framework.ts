import type { H3Event } from 'h3'
import { type Framework, type RequestDecision, routeName } from '../src/http/index.ts'
import { isIncomplete, type TrustedProxies } from '../src/http/keys/index.ts'
import { type NodePair, possibleResponse } from './node-pair.ts'
import { addressView, answerOf, clientHasLeft, finderOver, toldFinder, whenAnswered } from './web/index.ts'

declare module 'h3' {
  interface H3EventContext {
    /** The decision of the rate limiter that decided last about this request. Undefined on a route without a limiter. */
    rateLimit: RequestDecision
  }
}

/** The options of `rateLimit` that exist only in this adapter. */
export interface H3OwnOptions {
  /**
   * Returns the client's address, as the runtime or a trusted proxy reports it. A client must not be able to write the address.
   * Default: the `ip` of the request, which the server reports. Example: `(event) => event.req.headers.get('cf-connecting-ip')`.
   */
  address?: ((event: H3Event) => string | undefined | null) | undefined
  /**
   * How many proxies are in front of the server, or their addresses and ranges. The client's address is then read from
   * X-Forwarded-For, starting at the end of the list. Default: the proxy setting of the server. Example: `1`, or
   * `['10.0.0.0/8']`.
   */
  trustedProxies?: TrustedProxies | undefined
}

/** Request and response of node:http, and the setting `trustProxy` of the server. */
type Node = NodePair & { readonly trustProxy?: unknown }

function nodeOf({ req }: H3Event): Node | undefined {
  return req.runtime?.node as Node | undefined
}

function responseOf(event: H3Event): Node['res'] {
  return possibleResponse(event.req, nodeOf(event))
}

/** The parts of the requests of srvx that have the address of the connection on Bun and Deno. */
interface Runtime {
  readonly bun?: { readonly server?: { requestIP?(request: unknown): { readonly address?: string } | null } }
  readonly deno?: { readonly info?: { readonly remoteAddr?: { readonly hostname?: string } } }
}

/** The address at the other end of the connection, whatever proxies the server trusts. Undefined if the runtime does not show it. */
function connectionAddress({ req }: H3Event): string | undefined {
  const { node, bun, deno } = (req.runtime ?? {}) as Runtime & { node?: Node }
  if (node !== undefined) return node.req.socket.remoteAddress
  return bun?.server?.requestIP?.(req)?.address ?? deno?.info?.remoteAddr?.hostname
}

/** The last entry of X-Forwarded-For: the address from which the nearest proxy received the request. */
function nearest(event: H3Event): string | undefined {
  const last = event.req.headers.get('x-forwarded-for')?.split(',').at(-1)?.trim()
  return last === '' ? undefined : last
}

/**
 * The client's address. If the server's `trustProxy` is true, the address is the last entry of X-Forwarded-For: a client can
 * write all other entries.
 */
function ipOf(event: H3Event): string | undefined {
  const node = nodeOf(event)
  if (node?.trustProxy && isIncomplete(node.req)) return undefined
  if (node?.trustProxy === true) return nearest(event) ?? node.req.socket.remoteAddress
  return event.req.ip
}

/** A parameter as `getRouterParam` returns it with `decode: true`. A client may encode the same text in several ways. */
function decoded(param: string | undefined): string | undefined {
  try {
    return param && decodeURIComponent(param)
  } catch {
    return param
  }
}

/**
 * The event for a function in `count`, whose `event.res` has this status. h3 makes a new `event.res` each time it has made a response, also
 * while an async function runs. The event itself may get another response from code around the limit.
 */
function withStatus(event: H3Event, status: number): H3Event {
  const res = Object.create(event.res, { status: { value: status, writable: true } })
  return Object.create(event, { res: { value: res } })
}

/** The functions that the guard (code for all frameworks) needs from h3. The event of h3 is both the request and the response. */
export function h3Framework(own: H3OwnOptions = {}): Framework<H3Event, H3Event> {
  const { address = ipOf } = own
  const finder = finderOver(nodeOf, ({ req }) => req)
  const told = toldFinder<H3Event>(finder, address, own.address === undefined ? 'event.req.ip' : 'address')
  const socketAddress = (event: H3Event) => connectionAddress(event) ?? told.peer(event)
  const view = addressView(own.trustedProxies, own.address === undefined ? { ...told, peer: socketAddress } : told)
  return {
    ...view,
    address: own.trustedProxies === undefined ? (event) => told.peer(event) ?? undefined : view.address,
    trustsProxy: (event) => Boolean(nodeOf(event)?.trustProxy) || view.trustsProxy(event),
    param: ({ context: { params } }, name) =>
      params && Object.hasOwn(params, name) ? decoded(params[name]) : undefined,
    // For a route that was declared for all methods, h3 reports the method '', but `routeName` needs undefined.
    route: ({ context: { matchedRoute } }) =>
      routeName(matchedRoute?.method || undefined, matchedRoute?.route ?? '404'),
    attach({ context }, _response, decision) {
      context.rateLimit = decision
    },
    attached: ({ context }) => context.rateLimit,
    headersSent: () => false,
    complete: () => false,
    ended(event, done) {
      const ended = (status: number, aborted: boolean) => {
        // On Node, the response has been sent. h3 has cleared its status.
        if (nodeOf(event) !== undefined) event.res.status = status
        done(status, aborted, nodeOf(event) === undefined ? withStatus(event, status) : event)
      }
      whenAnswered(answerOf(event), event.req, nodeOf(event), ended)
    },
    left: (event) => clientHasLeft(responseOf(event), event.req),
    held: (event, inFlight) => answerOf(event).hold(inFlight, responseOf(event)),
    setHeader({ res }, name, value) {
      res.headers.set(name, value)
      // h3 sends `errHeaders` if the status is 400 or higher, and `headers` otherwise.
      res.errHeaders.set(name, value)
    },
    restoreHeader: ({ res }, name, value) => res.headers.set(name, value),
    responseHeader: ({ res }, name) => res.headers.get(name) ?? undefined,
    setStatus({ res }, status) {
      res.status = status
    },
    ownStatus: ({ res }) => res.status,
    clearRefusal(event) {
      Object.assign(event.res, { status: undefined })
      for (const name of ['Retry-After', 'Cache-Control']) {
        event.res.headers.delete(name)
        event.res.errHeaders.delete(name)
      }
      answerOf(event).refusal = undefined
    },
    send(event, type, body) {
      event.res.headers.set('Content-Type', type)
      answerOf(event).refusal = body
    },
    returned(event, value) {
      answerOf(event).refusal = value
    },
  }
}
