import { HeadgateError, ignoreRejection, isPromise, shown, warnOnce } from '../../common/index.ts'
import type { Framework } from '../framework.ts'
import { addressIn } from './address.ts'

/**
 * Warns once that a request has no address, because its connection has none (a unix socket) or the framework's adapter cannot find the
 * address. A client that has disconnected causes no warning.
 */
export function warnOfNoAddress<Request>(
  view: Pick<Framework<Request, never>, 'unaddressed' | 'addressless'>,
  request: Request,
): void {
  const unaddressed = view.unaddressed === undefined || view.unaddressed(request)
  if (unaddressed === undefined) warnOfUnknownAddress(view.addressless)
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

/**
 * Warns that the framework's adapter did not find the client's address: a function of the application returned nothing, or there is none.
 * @param missing what to write for that function; undefined if the application has passed one
 */
function warnOfUnknownAddress(missing: string | undefined): void {
  const why =
    missing === undefined
      ? 'The function that finds the address returned nothing. Check that it fits this runtime, and that the handler gets the argument ' +
        'that it reads.'
      : 'The request has no key, and no function finds its address. Let keys return a key for each request, or pass such a function: ' +
        `rateLimit('100/15m', { ${missing} }).`
  warnOnce(
    'HEADGATE_NO_ADDRESS',
    `The client address of a request is unknown, so the request was refused with 403. ${why}`,
  )
}

/**
 * The client's address, as a function of the application returned it. Undefined if the function returned nothing, or a text that
 * is not an IP address. Such a text causes a warning once, because several clients could have the same text, or a client could
 * choose the text.
 * @param option the name of the function in the options
 * @throws HeadgateError `HEADGATE_OPTION` if the value is a promise, or any other value that is not a text
 */
export function toldAddress(told: unknown, option: string): string | undefined {
  if (told === undefined || told === null) return undefined
  if (typeof told !== 'string') throw notText(told, option)
  if (addressIn(told) !== undefined) return told
  warnOnce(
    'HEADGATE_NO_ADDRESS',
    `${option} returned ${shown(told)}, which is no IP address, so the request has none: a limit by address refuses it with ` +
      '403. Return one address. If a field may hold a list, such as X-Forwarded-For, return the address of the nearest proxy ' +
      "and write trustedProxies: 1, or write keys: byIp({ platform: 'nginx' }) or another platform.",
  )
  return undefined
}

/**
 * The client's address, as a trusted proxy reports it. Undefined if the proxy reports a text that is not an IP address: several clients
 * could have the same text, or a client could choose the text. Such a text causes a warning once.
 */
export function reportedAddress(text: string | undefined): string | undefined {
  const address = text?.trim()
  if (address === undefined || addressIn(address) !== undefined) return address
  warnOnce(
    'HEADGATE_NO_ADDRESS',
    `A trusted proxy reports ${shown(text)} as the address of a client, which is no IP address, so the request has none: a limit by ` +
      'address refuses it with 403. Let the proxy write the address in X-Forwarded-For, and check that only proxies are trusted.',
  )
  return undefined
}

function notText(told: unknown, option: string): HeadgateError {
  ignoreRejection(told)
  return new HeadgateError(
    'HEADGATE_OPTION',
    `${option} must return the client's address as a text at once, got ${isPromise(told) ? 'a promise' : shown(told)}. ` +
      'Await it before the limiter, and return the text. Return undefined if there is no address.',
  )
}
