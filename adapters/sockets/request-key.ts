import type { IncomingMessage } from 'node:http'
import { randomWords } from '#platform'
import { HeadgateError, ignoreRejection, isPromise } from '../../src/common/index.ts'
import { routeName } from '../../src/http/index.ts'
import {
  byIp,
  extractKey,
  isIncomplete,
  isUnixSocket,
  type KeyExtractor,
  mayLackAddress,
  type RequestView,
  warnOfNoAddress,
  withAddressOf,
} from '../../src/http/keys/index.ts'

/**
 * The functions that read a request that opens a connection. Such a request has no parameters and no route, because no router handles it.
 */
export const upgradeView: RequestView<IncomingMessage> = {
  address: ({ socket }) => socket.remoteAddress,
  peer: ({ socket }) => socket.remoteAddress,
  unaddressed: ({ socket }) => isUnixSocket(socket),
  incomplete: isIncomplete,
  trustsProxy: () => false,
  param: () => undefined,
  header: ({ headers }, name) => headers[name]?.toString(),
  route: () => routeName(undefined, undefined),
}

/**
 * True for a request without an address that must be refused: its client has disconnected, or the platform reported no valid
 * address. All clients of such requests would share one quota. False for a unix socket, whose requests never have an address.
 */
function lacksAddress(request: IncomingMessage, view: RequestView<IncomingMessage>): boolean {
  if (view.address(request) !== undefined) return false
  warnOfNoAddress(view, request)
  return !view.unaddressed?.(request) || view.incomplete?.(request) === true
}

const byAddress = byIp()

/**
 * The key of the request that opened a connection. With ws, the request is the second argument of the event `connection`. With
 * socket.io, the request is `socket.request`. If the extractor finds no key, the key is the client's address. If there is no address
 * either, because the client has disconnected or the platform reported no valid address, the connection is closed. The returned key is then
 * used for this request only.
 *
 *     limitMessages(socket, limiter, { key: requestKey(request, byIp({ trustedProxies: 1 })) })
 *
 * @param extractor finds the key in the request. Default `byIp()`
 * @throws HeadgateError `HEADGATE_OPTION` for a value that is no request, or an extractor that returns a promise; `HEADGATE_KEY` for an
 *   extractor that returns no text
 */
export function requestKey(request: IncomingMessage, extractor: KeyExtractor<IncomingMessage> = byAddress): string {
  if (request?.headers === undefined || request.socket === undefined) throw noRequest()
  const view = withAddressOf(extractor, upgradeView)
  const key = extractKey(extractor, request, view)
  if (isPromise(key) || key === false) {
    ignoreRejection(key)
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'requestKey needs an extractor that returns a text at once. Await a promise yourself, and pass the text as key. ' +
        'If it returns false, leave the socket without a limit.',
    )
  }
  if (!mayLackAddress(key) || !lacksAddress(request, view)) return key
  // Do not throw: a listener of 'connection' calls this function, and an error would end the process. A client can disconnect at any
  // time.
  request.socket.destroy()
  return `~${randomWords().join()}`
}

function noRequest(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    "requestKey takes the request that opened the connection. With ws, write server.on('connection', (socket, request) => " +
      "requestKey(request)). With socket.io, write io.on('connection', (socket) => requestKey(socket.request)).",
  )
}
