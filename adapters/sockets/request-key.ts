import type { IncomingMessage } from 'node:http'
import { HeadgateError } from '../../src/errors.ts'
import { byIp, isUnixSocket, type KeyExtractor, routeName } from '../../src/http/index.ts'
import { extractKey } from '../../src/http/keys/extract-key.ts'
import type { RequestView } from '../../src/http/keys/key-extractor.ts'
import { isPromise } from '../../src/maybe-promise.ts'

/** Functions over a request that opens a connection. No router has seen it, so it has no parameters and no route. */
export const upgradeView: RequestView<IncomingMessage> = {
  address: ({ socket }) => socket.remoteAddress,
  peer: ({ socket }) => socket.remoteAddress,
  unaddressed: ({ socket }) => isUnixSocket(socket),
  trustsProxy: () => false,
  param: () => undefined,
  header: ({ headers }, name) => headers[name]?.toString(),
  route: ({ method }) => routeName(method, undefined),
}

const byAddress = byIp()

/**
 * The key of the request that opened a connection: the second argument of `connection` with ws, `socket.request` with
 * socket.io. A request without such a key is limited by its address.
 *
 *     limitMessages(socket, limiter, { key: requestKey(request, byIp({ trustedProxies: 1 })) })
 *
 * @param extractor who it is limited as. Default `byIp()`
 * @throws HeadgateError `HEADGATE_OPTION` for an extractor that returns a promise, `HEADGATE_KEY` for one that returns no
 *   text
 */
export function requestKey(request: IncomingMessage, extractor: KeyExtractor<IncomingMessage> = byAddress): string {
  const key = extractKey(extractor, request, upgradeView)
  if (!isPromise(key) && key !== false) return key
  throw new HeadgateError(
    'HEADGATE_OPTION',
    'requestKey needs an extractor that returns a text at once. Await a promise yourself, and pass the text as key. ' +
      'If it returns false, leave the socket without a limit.',
  )
}
