import type { IncomingMessage, Server } from 'node:http'
import type { Http2SecureServer, Http2Server } from 'node:http2'
import type { Duplex } from 'node:stream'
import { flag, knownOptions, reason, warnOnce } from '../../src/common/index.ts'
import { createGuard, type Framework, type Guard } from '../../src/http/index.ts'
import type { KeyExtractor } from '../../src/http/keys/index.ts'
import type { PolicyLikes, RateLimiter } from '../../src/limiter/index.ts'
import { checkServer } from './check-server.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'
import { upgradeView } from './request-key.ts'
import { sharedLimiter } from './shared-limiter.ts'

/** The options of `limitConnections`. */
export interface ConnectionOptions {
  /**
   * Who is limited: a key extractor, or one for each scope. It gets the request that opens the connection. Default
   * `byIp()`. Example: `byIp({ trustedProxies: 1 })`.
   */
  keys?: KeyExtractor<IncomingMessage> | Readonly<Record<string, KeyExtractor<IncomingMessage>>>
  /**
   * True to give the unit back when the connection closes, under every policy. A policy with a window then limits how
   * many connections are open at once, and a connection counts at most for one window. Default false: the policy limits
   * how many connections are opened. `'2 at once'` needs no such option: its unit is held until the connection closes.
   */
  releaseOnClose?: boolean
}

/**
 * Limits the connections that are upgraded, to WebSockets or another protocol, before any library sees them. A refused one
 * gets status 429 with `Retry-After`, and 503 if the store fails and `onStoreError` is `'closed'`. Call it once for a
 * server of `node:http` or `node:https`.
 *
 *     limitConnections(server, '10/1m')
 *     limitConnections(server, '5 at once')
 *
 * Long polling of socket.io is no upgrade: limit it as requests, or allow `transports: ['websocket']` only.
 *
 * @param server the server of node:http, node:https or node:http2 that the WebSocketServer or socket.io is attached to
 * @returns the limiter, for `peek`, `reset`, `ban` and `health()`
 * @throws HeadgateError if a policy or an option is invalid
 */
export function limitConnections(
  server: Server | Http2Server | Http2SecureServer,
  policies: PolicyLikes | RateLimiter,
  options: ConnectionOptions = {},
): RateLimiter {
  knownOptions('limitConnections', options, ['keys', 'releaseOnClose'])
  checkServer(server)
  const limiter = sharedLimiter(policies)
  const releases = flag()(options.releaseOnClose, 'limitConnections: releaseOnClose')
  const holds = releases || limiter.policies.some(({ algorithm }) => algorithm.leases)
  // A connection that was never opened gives its unit back too.
  const count = (_request: IncomingMessage, upgrade: Upgrade) => upgrade.opens && !releases
  const guard = createGuard<IncomingMessage, Upgrade>(upgradeFramework(holds), {
    limiter,
    keys: options.keys,
    count,
    headers: false,
  })
  const emit: (name: string, ...values: unknown[]) => boolean = server.emit.bind(server)
  server.emit = (name: string, ...values: unknown[]): boolean => {
    if (name !== 'upgrade') return emit(name, ...values)
    const [request, socket] = values as [IncomingMessage, Duplex]
    admit(guard, request, socket, () => emit(name, ...values))
    return true
  }
  return limiter
}

/** The response to a request for a connection. */
class Upgrade {
  readonly socket: Duplex & { readonly bytesWritten?: number }
  /** True once the connection is admitted, unless its client has left. */
  opens = false
  status = 429
  readonly fields: string[] = []

  constructor(socket: Duplex) {
    this.socket = socket
  }
}

/** @param holds true if a connection holds its units until it closes */
function upgradeFramework(holds: boolean): Framework<IncomingMessage, Upgrade> {
  return {
    ...upgradeView,
    attach() {},
    headersSent: () => false,
    complete: () => false,
    ended(upgrade, done) {
      upgrade.opens = !upgrade.socket.destroyed
      if (holds && upgrade.opens) upgrade.socket.once('close', () => done(101, false))
      else done(101, false)
    },
    held: ({ socket }) => progressOf(socket),
    setHeader: ({ fields }, name, value) => void fields.push(`${name}: ${value}`),
    setStatus(upgrade, status) {
      upgrade.status = status
    },
    send: ({ socket, status, fields }) => refuseUpgrade(socket, status, fields),
  }
}

/** Calls `open` if the connection is admitted: at once, unless the store or an extractor answers later. */
function admit(
  guard: Guard<IncomingMessage, Upgrade>,
  request: IncomingMessage,
  socket: Duplex,
  open: () => void,
): void {
  // While the socket has no other listener, its error, such as a reset, must not end the process.
  const ignore = () => {}
  socket.on('error', ignore)
  void guard.handle(request, new Upgrade(socket), (error) => {
    socket.off('error', ignore)
    if (error !== undefined) failed(error, socket)
    else if (!socket.destroyed) open()
  })
}

/**
 * For `Framework.held`: grows once the upgrade was answered. Before that, maybe nobody reads the socket, and an unread
 * socket does not report its end. So the lease of a connection that is never answered ends by itself.
 */
function progressOf(socket: Upgrade['socket']): () => number {
  const before = socket.bytesWritten ?? 0
  let signs = 0
  return () => ((socket.bytesWritten ?? 0) > before ? ++signs : signs)
}

function failed(error: unknown, socket: Duplex): void {
  warnOnce('HEADGATE_UPGRADE', `A connection ran into an error and was refused with status 500. ${reason(error)}`)
  refuseUpgrade(socket, 500, ['Cache-Control: no-store'])
}
