import type { IncomingMessage } from 'node:http'
import { randomWords } from '#platform'
import { HeadgateError, isPromise } from '../../src/common/index.ts'
import { routeName } from '../../src/http/index.ts'
import {
  byIp,
  extractKey,
  isUnixSocket,
  type KeyExtractor,
  mayLackAddress,
  onPlatform,
  type RequestView,
  warnOfNoAddress,
} from '../../src/http/keys/index.ts'

/** Functions over a request that opens a connection. Routers do not see it, so it has no parameters and no route. */
export const upgradeView: RequestView<IncomingMessage> = {
  address: ({ socket }) => socket.remoteAddress,
  peer: ({ socket }) => socket.remoteAddress,
  unaddressed: ({ socket }) => isUnixSocket(socket),
  trustsProxy: () => false,
  param: () => undefined,
  header: ({ headers }, name) => headers[name]?.toString(),
  route: () => routeName(undefined, undefined),
}

/**
 * True for a request that has no address and must not be admitted: its client has left, or the platform in front
 * reported no valid address. All such clients would share one quota. A unix socket has no addresses by design.
 */
function lacksAddress(request: IncomingMessage, view: RequestView<IncomingMessage>): boolean {
  if (view.address(request) !== undefined) return false
  warnOfNoAddress(view, request)
  return !view.unaddressed?.(request)
}

const byAddress = byIp()

/**
 * The key of the request that opened a connection: the second argument of `connection` with ws, `socket.request` with
 * socket.io. A request without such a key is limited by its address. A request without an address gets a key that
 * nobody else has, and its connection is closed: its client has left, or the platform in front reported no valid
 * address.
 *
 *     limitMessages(socket, limiter, { key: requestKey(request, byIp({ trustedProxies: 1 })) })
 *
 * @param extractor who is limited. Default `byIp()`
 * @throws HeadgateError `HEADGATE_OPTION` for an extractor that returns a promise, `HEADGATE_KEY` for one that returns no
 *   text
 */
export function requestKey(request: IncomingMessage, extractor: KeyExtractor<IncomingMessage> = byAddress): string {
  const view = onPlatform(upgradeView, extractor)
  const key = extractKey(extractor, request, view)
  if (isPromise(key) || key === false) {
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'requestKey needs an extractor that returns a text at once. Await a promise yourself, and pass the text as key. ' +
        'If it returns false, leave the socket without a limit.',
    )
  }
  if (!mayLackAddress(key) || !lacksAddress(request, view)) return key
  // An error would end the process: a listener of 'connection' calls this, and a client can leave at any time.
  request.socket.destroy()
  return `~${randomWords().join()}`
}
