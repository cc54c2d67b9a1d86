import type { IncomingMessage, Server } from 'node:http'
import type { Http2SecureServer, Http2Server } from 'node:http2'
import type { Duplex } from 'node:stream'
import { HeadgateError } from '../../src/errors.ts'
import { InFlight } from '../../src/http/in-flight.ts'
import type { KeyExtractor } from '../../src/http/index.ts'
import { onPlatform } from '../../src/http/keys/declared-platform.ts'
import { mayLackAddress } from '../../src/http/keys/extract-key.ts'
import { findKey } from '../../src/http/keys/find-key.ts'
import { scopeExtractors } from '../../src/http/keys/scope-extractors.ts'
import { book, type Key, type RateLimiter } from '../../src/limiter.ts'
import type { PolicyLikes } from '../../src/limiter-options.ts'
import { isPromise, type MaybePromise } from '../../src/maybe-promise.ts'
import { flag } from '../../src/option-readers.ts'
import { knownOptions } from '../../src/options.ts'
import type { Reservation } from '../../src/reservation.ts'
import { reason, warnOnce } from '../../src/warn.ts'
import { checkServer } from './check-server.ts'
import { refuseUpgrade } from './refuse-upgrade.ts'
import { lacksAddress, upgradeView } from './request-key.ts'
import { sharedLimiter } from './shared-limiter.ts'

export interface ConnectionOptions {
  /**
   * Who is limited: a key extractor, or one for each scope. It gets the request that opens the connection. Default
   * `byIp()`. Example: `byIp({ trustedProxies: 1 })`.
   */
  keys?: KeyExtractor<IncomingMessage> | Readonly<Record<string, KeyExtractor<IncomingMessage>>>
  /**
   * True to give the unit back when the connection closes, under every policy. A window then limits how many connections are
   * open at once, and is the longest that a connection counts. Default false: it limits how many are opened. `'2 at once'`
   * needs no such option: its unit is renewed while the connection is open, and free when that closes.
   */
  releaseOnClose?: boolean
}

interface Settings {
  readonly limiter: RateLimiter
  readonly extractors: readonly KeyExtractor<IncomingMessage>[]
  readonly releases: boolean
  /** Undefined if no policy counts units in flight. */
  readonly inFlight: InFlight | undefined
}

/**
 * Limits the connections that are upgraded, to WebSockets or another protocol, before any library sees them. A refused one
 * gets status 429 with `Retry-After`, and 503 if the store fails and `onStoreError` is `'deny'`. Call it once for a
 * server of `node:http` or `node:https`.
 *
 *     limitConnections(server, '10/1m')
 *     limitConnections(server, '5 at once')
 *
 * Long polling of socket.io is no upgrade: limit it as requests, or allow `transports: ['websocket']` only.
 *
 * @param server the server of node:http, node:https or node:http2 that the WebSocketServer or socket.io is attached to
 * @returns the limiter, for `peek`, `reset`, `block` and `health()`
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
  const extractors = scopeExtractors(options.keys, limiter.scopes, true)
  const releases = flag()(options.releaseOnClose, 'limitConnections: releaseOnClose')
  const settings = { limiter, extractors, releases, inFlight: InFlight.of(limiter.policies) }
  const emit: (name: string, ...values: unknown[]) => boolean = server.emit.bind(server)
  server.emit = (name: string, ...values: unknown[]): boolean => {
    if (name !== 'upgrade') return emit(name, ...values)
    const [request, socket] = values as [IncomingMessage, Duplex]
    admit(settings, request, socket, () => emit(name, ...values))
    return true
  }
  return limiter
}

/** Calls `open` if the connection is admitted: at once, unless the store or an extractor answers later. */
function admit(settings: Settings, request: IncomingMessage, socket: Duplex, open: () => void): void {
  let reservation: MaybePromise<Reservation | undefined>
  try {
    const view = onPlatform(upgradeView, settings.extractors)
    const key = findKey(settings.extractors, settings.limiter.scopes, request, view, undefined)
    const decide = (found: Key | false) => {
      if (found === false || !mayLackAddress(found) || !lacksAddress(request, view)) return reserve(settings, found)
      socket.destroy()
      return undefined
    }
    reservation = isPromise(key) ? key.then(decide) : decide(key)
  } catch (error) {
    failed(error, socket)
    return
  }
  if (isPromise(reservation)) admitLater(settings, reservation, socket, open)
  else settle(settings, reservation, socket, open)
}

/** Undefined for a connection that an extractor exempts. */
function reserve({ limiter }: Settings, key: Key | false): MaybePromise<Reservation | undefined> {
  return key === false ? undefined : book(limiter, key, 1, 0)
}

/** While nobody else listens to the socket, an error of it, such as a reset, must not end the process. */
function admitLater(
  settings: Settings,
  later: Promise<Reservation | undefined>,
  socket: Duplex,
  open: () => void,
): void {
  const ignore = () => {}
  socket.on('error', ignore)
  later.then(
    (reservation) => {
      socket.off('error', ignore)
      settle(settings, reservation, socket, open)
    },
    (error) => failed(error, socket),
  )
}

function settle(settings: Settings, reservation: Reservation | undefined, socket: Duplex, open: () => void): void {
  if (reservation === undefined) {
    if (!socket.destroyed) open()
    return
  }
  const { allowed, decision } = reservation
  if (!allowed) refuseUpgrade(socket, 429, decision.retryAfter)
  else if (socket.destroyed) void release(reservation)
  else {
    hold(settings, reservation, socket)
    open()
  }
}

/** Holds the units of an open connection until it closes. */
function hold({ releases, inFlight }: Settings, reservation: Reservation, socket: Duplex): void {
  const free = inFlight?.hold(reservation, { progress: progressOf(socket), failed: stayCounted })
  if (free !== undefined) socket.once('close', free)
  if (releases) socket.once('close', () => release(reservation))
}

/**
 * Grows once the upgrade was answered. Until then nobody may have the socket, and one that nobody reads tells of no end. So the
 * lease of a connection that is never answered ends by itself.
 */
function progressOf(socket: Duplex & { readonly bytesWritten?: number }): () => number {
  const before = socket.bytesWritten ?? 0
  let signs = 0
  return () => ((socket.bytesWritten ?? 0) > before ? ++signs : signs)
}

/** A connection that was never opened gives its unit back too. */
function release(reservation: Reservation): Promise<void> {
  return reservation.cancel().catch(stayCounted)
}

function stayCounted(error: unknown): void {
  warnOnce(
    'HEADGATE_RELEASE',
    `The store failed to release or renew a connection, so it counts until its window or lease ends. ${reason(error)}`,
  )
}

function failed(error: unknown, socket: Duplex): void {
  if (error instanceof HeadgateError && error.code === 'HEADGATE_STORE_UNAVAILABLE') {
    refuseUpgrade(socket, 503, error.retryAfter ?? 1000)
    return
  }
  warnOnce('HEADGATE_UPGRADE', `A connection ran into an error and was refused with status 500. ${reason(error)}`)
  refuseUpgrade(socket, 500, Infinity)
}
