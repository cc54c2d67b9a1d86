import { warnOnce } from '../../warn.ts'
import type { RequestView } from './key-extractor.ts'

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
