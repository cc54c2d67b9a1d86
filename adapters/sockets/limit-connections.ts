import { IncomingMessage, type Server } from 'node:http'
import type { Http2SecureServer, Http2Server, IncomingHttpHeaders, ServerHttp2Stream } from 'node:http2'
import { Socket } from 'node:net'
import type { Duplex } from 'node:stream'
import { flag, knownOptions, reason, warnOnce } from '../../src/common/index.ts'
import { whenClosed } from '../../src/http/held/index.ts'
import { type CalendarOf, createGuard, type Framework, type Guard } from '../../src/http/index.ts'
import type { KeyExtractor } from '../../src/http/keys/index.ts'
import type { PolicyLikes, RateLimiter } from '../../src/limiter/index.ts'
import { checkServer } from './check-server.ts'
import { hasClosed, isStream, refuseUpgrade } from './refuse-upgrade.ts'
import { upgradeView } from './request-key.ts'
import { sharedLimiter } from './shared-limiter.ts'

/** The options of `limitConnections`. */
export interface ConnectionOptions {
  /**
   * Who is limited: a function that finds the key in the request that opens the connection, or a record with such a function for each
   * `scope` of the policies. Default `byIp()`. Example: `byIp({ trustedProxies: 1 })`. For a WebSocket over HTTP/2, the request has the
   * headers of the stream, such as `:authority`, and the socket of the session.
   */
  keys?: KeyExtractor<IncomingMessage> | Readonly<Record<string, KeyExtractor<IncomingMessage>>> | undefined
  /**
   * Returns the calendar of the customer that opens the connection, or a promise of it. Required if a policy has `anchor: 'caller'` or
   * `timeZone: 'caller'`. Default: none. Example: `async (request) => calendars.get(await customerOf(request))`.
   */
  calendar?: CalendarOf<IncomingMessage> | undefined
  /**
   * True to refund the units of a connection when it closes, under every policy. A policy with a window then limits how many
   * connections are open at the same time, but each connection counts for at most one window. Default false: a policy with a
   * window then limits how many connections are opened in each window. `'2 at once'` does not need this option, because a
   * policy with `at once` always counts a connection until the connection closes.
   */
  releaseOnClose?: boolean | undefined
}

/**
 * Limits the requests to upgrade a connection, to WebSocket or to another protocol, before any library handles them. In HTTP/2, this is
 * an extended CONNECT (RFC 8441): a stream with `:protocol`, such as a WebSocket. Each such stream is one connection. A refused request
 * gets status 429 with `Retry-After`. If the store fails and `onStoreError` is `'closed'`, the status is 503. Call `limitConnections`
 * once for each server. A CONNECT without `:protocol`, which asks for a proxy, is not limited.
 *
 *     limitConnections(server, '10/1m')
 *     limitConnections(server, '5 at once')
 *
 * Long polling of socket.io does not upgrade a connection. Set `transports: ['websocket']` in socket.io, or limit the requests of long
 * polling by `io.engine.use`.
 *
 * @param server the server of node:http, node:https or node:http2 to which the WebSocketServer or socket.io is attached
 * @returns the limiter, for `peek`, `reset`, `ban` and `health()`
 * @throws HeadgateError if a policy or an option is invalid
 */
export function limitConnections(
  server: Server | Http2Server | Http2SecureServer,
  policies: PolicyLikes | RateLimiter,
  options: ConnectionOptions = {},
): RateLimiter {
  knownOptions('limitConnections', options, ['keys', 'calendar', 'releaseOnClose'])
  checkServer(server)
  const limiter = sharedLimiter('connections', policies)
  const releases = flag()(options.releaseOnClose, 'limitConnections: releaseOnClose')
  const holds = releases || limiter.policies.some(({ algorithm }) => algorithm.leases)
  // The units of a connection that was admitted but never opened are refunded even without `releaseOnClose`.
  const count = (_request: IncomingMessage, upgrade: Upgrade) => upgrade.opens && !releases
  const guard = createGuard<IncomingMessage, Upgrade>(upgradeFramework(holds), {
    limiter,
    keys: options.keys,
    calendar: options.calendar,
    count,
    headers: false,
  })
  const emit: (name: string, ...values: unknown[]) => boolean = server.emit.bind(server)
  server.emit = (name: string, ...values: unknown[]): boolean => {
    const opening = openingOf(name, values)
    if (opening === undefined) return emit(name, ...values)
    const hadListeners = server.listenerCount(name) > 0
    admit(guard, opening.request, opening.socket, () => {
      if (hadListeners && server.listenerCount(name) === 0) return false
      emit(name, ...values)
      return true
    })
    return true
  }
  return limiter
}

/** The request that opens a connection, and its socket or stream. Undefined for any other event of a server. */
function openingOf(name: string, values: unknown[]): { request: IncomingMessage; socket: Duplex } | undefined {
  if (name === 'upgrade') return { request: values[0] as IncomingMessage, socket: values[1] as Duplex }
  if (name !== 'stream') return undefined
  const [stream, headers, , rawHeaders] = values as [ServerHttp2Stream, IncomingHttpHeaders, number, string[]]
  if (headers[':protocol'] === undefined) return undefined
  return { request: streamRequest(stream, headers, rawHeaders), socket: stream }
}

/**
 * The request of a stream. The class `Http2ServerRequest` is not used, because its constructor adds listeners to the stream. A destroyed
 * stream has no session, and so its request has no address.
 */
function streamRequest(
  { session }: ServerHttp2Stream,
  headers: IncomingHttpHeaders,
  rawHeaders: string[],
): IncomingMessage {
  const head = { method: headers[':method'], url: headers[':path'], headers, rawHeaders }
  const version = { httpVersion: '2.0', httpVersionMajor: 2, httpVersionMinor: 0 }
  return Object.assign(new IncomingMessage(session?.socket ?? new Socket().destroy()), head, version)
}

/** The response to a request to upgrade a connection. */
class Upgrade {
  readonly socket: Duplex & { readonly bytesWritten?: number }
  /** True if the connection was admitted while its client was still connected. */
  opens = false
  status = 429
  readonly fields: Record<string, string> = {}

  constructor(socket: Duplex) {
    this.socket = socket
  }
}

/**
 * The functions that the guard (code for all frameworks) needs for upgrades.
 * @param holds true if a connection uses units until the connection closes
 */
function upgradeFramework(holds: boolean): Framework<IncomingMessage, Upgrade> {
  return {
    ...upgradeView,
    countsItself: true,
    attach() {},
    headersSent: () => false,
    complete: () => false,
    ended(upgrade, done) {
      const { socket } = upgrade
      const end = () => done(101, false)
      upgrade.opens = !hasClosed(socket)
      if (!holds || !upgrade.opens) end()
      else if (isStream(socket)) whenClosed(socket, end)
      else socket.once('close', end)
    },
    held: ({ socket }) => (isStream(socket) ? undefined : progressOf(socket)),
    setHeader({ fields }, name, value) {
      fields[name] = value
    },
    setStatus(upgrade, status) {
      upgrade.status = status
    },
    send: ({ socket, status, fields }) => refuseUpgrade(socket, status, fields),
  }
}

/**
 * Admits or refuses an upgrade. Calls `open` if the upgrade is admitted, synchronously if the store and the functions in `keys` are
 * synchronous.
 * @param open returns false if nobody listens for the upgrade any more
 */
function admit(
  guard: Guard<IncomingMessage, Upgrade>,
  request: IncomingMessage,
  socket: Duplex,
  open: () => boolean,
): void {
  // Until a library listens to the socket, this listener prevents an error of the socket, such as a reset, from ending the process. A
  // closed socket keeps the listener, because its error may be emitted later.
  const ignore = () => {}
  socket.on('error', ignore)
  void guard.handle(request, new Upgrade(socket), (error) => {
    if (hasClosed(socket)) return
    if (error !== undefined) return failed(error, socket)
    socket.off('error', ignore)
    // While the store decided, the listeners may have left, as in a shutdown. Nobody would answer the client then, or close the socket.
    if (!open()) refuseUpgrade(socket, 503, { 'Cache-Control': 'no-store' })
  })
}

/**
 * Returns a function for `Framework.held`. The lease of a connection's units (the time after which the units are freed) is renewed only
 * while the function's result increases. The result increases at each call after the upgrade was answered. Before the server's response,
 * maybe no code reads the socket, and an unread socket does not report its close. So the units of an upgrade that is never answered become
 * free.
 */
function progressOf(socket: Upgrade['socket']): () => number {
  const before = socket.bytesWritten ?? 0
  let signs = 0
  return () => ((socket.bytesWritten ?? 0) > before ? ++signs : signs)
}

function failed(error: unknown, socket: Duplex): void {
  warnOnce('HEADGATE_UPGRADE', `A connection ran into an error and was refused with status 500. ${reason(error)}`)
  refuseUpgrade(socket, 500, { 'Cache-Control': 'no-store' })
}
