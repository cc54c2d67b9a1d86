import { warnOnce } from '../../warn.ts'
import type { RequestView } from './key-extractor.ts'

/** The part of a socket of Node that `isUnixSocket` reads. */
export interface LocalSocket {
  readonly destroyed: boolean
  readonly localPort?: number | undefined
  readonly remoteAddress?: string | undefined
}

/**
 * True if an open socket without a remote address is a unix socket (a pipe on Windows). For `Framework.unaddressed`. A TCP
 * socket has no remote address either once its client has reset it, but the server that it came through has a port.
 */
export function isUnixSocket(socket: LocalSocket): boolean {
  if (socket.destroyed || socket.remoteAddress !== undefined || socket.localPort !== undefined) return false
  const { server } = socket as { server?: { address?(): unknown } }
  const listening = server?.address?.()
  return typeof listening !== 'object' || listening === null
}

/** Says once that requests have no address. A client that has left is not worth a warning. */
export function warnOfNoAddress<Request>(view: Pick<RequestView<Request>, 'unaddressed'>, request: Request): void {
  const unaddressed = view.unaddressed === undefined || view.unaddressed(request)
  if (unaddressed === undefined) warnOfUnknownAddress()
  if (!unaddressed) return
  warnOnce(
    'HEADGATE_NO_ADDRESS',
    'Requests have no address. Over a unix socket, all clients share one limit, and a deny list refuses all of them. ' +
      'Elsewhere they are refused. Let the proxy send the address, and write byIp({ trustedProxies: 1 }), ' +
      "byIp({ platform: 'nginx' }) or another platform, or set it in the framework " +
      "(Express: app.set('trust proxy', 1), Koa: new Koa({ proxy: true, maxIpsCount: 1 }), " +
      'Fastify: fastify({ trustProxy: true })). Or limit by something else: keys: byHeader("x-api-key"). The author of an ' +
      'adapter sets Framework.unaddressed.',
  )
}

/** For adapters that get the address from a function of the application. */
function warnOfUnknownAddress(): void {
  warnOnce(
    'HEADGATE_NO_ADDRESS',
    'The client address of a request is unknown, so the request was refused with 403. The function that finds the address ' +
      'returned nothing. Check that it fits this runtime, and that the handler gets the argument that it reads.',
  )
}
