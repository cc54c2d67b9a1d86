import type { IncomingMessage, Server } from 'node:http'
import type { Duplex } from 'node:stream'
import { HeadgateError, invalidOption } from '../../src/errors.ts'
import type { KeyExtractor } from '../../src/http/index.ts'
import { onPlatform } from '../../src/http/keys/declared-platform.ts'
import { mayLackAddress } from '../../src/http/keys/extract-key.ts'
import { findKey } from '../../src/http/keys/find-key.ts'
import { scopeExtractors } from '../../src/http/keys/scope-extractors.ts'
import { book, type Key, type RateLimiter } from '../../src/limiter.ts'
import type { PolicyLikes } from '../../src/limiter-options.ts'
import { isPromise, type MaybePromise } from '../../src/maybe-promise.ts'
import { flag, knownOptions } from '../../src/options.ts'
import type { Reservation } from '../../src/reservation.ts'
import { reason, warnOnce } from '../../src/warn.ts'
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
   * True to give the unit back when the connection closes. The policy then limits how many connections are open at once.
   * Its window is the longest that a connection counts. Default false: it limits how many are opened.
   */
  releaseOnClose?: boolean
}

/** How a connection that is refused ends. */
interface Settings {
  readonly limiter: RateLimiter
  readonly extractors: readonly KeyExtractor<IncomingMessage>[]
  readonly releases: boolean
}

/**
 * Limits the connections that are upgraded, to WebSockets or another protocol, before any library sees them. A refused one
 * gets status 429 with `Retry-After`, and 503 if the store fails and `onStoreError` is `'deny'`. Call it once for a
 * server of `node:http` or `node:https`.
 *
 *     limitConnections(server, '10/1m')
 *     limitConnections(server, slidingLog({ limit: 5, window: '1d' }), { releaseOnClose: true })
 *
 * Long polling of socket.io is no upgrade: limit it as requests, or allow `transports: ['websocket']` only.
 *
 * @returns the limiter, for `peek`, `reset`, `block` and `health()`
 * @throws HeadgateError if a policy or an option is invalid
 */
export function limitConnections(
  server: Server,
  policies: PolicyLikes | RateLimiter,
  options: ConnectionOptions = {},
): RateLimiter {
  knownOptions('limitConnections', options, ['keys', 'releaseOnClose'])
  if (typeof (server as Partial<Server> | null)?.emit !== 'function') {
    throw invalidOption('server', 'a server of node:http', server, "Write limitConnections(server, '10/1m').")
  }
  const limiter = sharedLimiter(policies)
  const extractors = scopeExtractors(options.keys, limiter.scopes, true)
  const settings = { limiter, extractors, releases: flag(options.releaseOnClose, 'releaseOnClose') }
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

function settle({ releases }: Settings, reservation: Reservation | undefined, socket: Duplex, open: () => void): void {
  if (reservation === undefined) {
    if (!socket.destroyed) open()
    return
  }
  const { allowed, decision } = reservation
  if (!allowed) refuseUpgrade(socket, 429, decision.retryAfter)
  else if (socket.destroyed) void release(reservation)
  else {
    if (releases) socket.once('close', () => release(reservation))
    open()
  }
}

/** A connection that was never opened gives its unit back too. */
function release(reservation: Reservation): Promise<void> {
  return reservation.cancel().catch((error) => {
    warnOnce('HEADGATE_RELEASE', `The store failed to release a connection, so it stays counted. ${reason(error)}`)
  })
}

function failed(error: unknown, socket: Duplex): void {
  if (error instanceof HeadgateError && error.code === 'HEADGATE_STORE_UNAVAILABLE') {
    refuseUpgrade(socket, 503, error.retryAfter ?? 1000)
    return
  }
  warnOnce('HEADGATE_UPGRADE', `A connection ran into an error and was refused with status 500. ${reason(error)}`)
  refuseUpgrade(socket, 500, Infinity)
}
