import { HeadgateError, shown } from '../../errors.ts'
import { isPromise } from '../../maybe-promise.ts'
import { warnOnce } from '../../warn.ts'
import { tellsAddress } from './address.ts'

/**
 * The client's address, of what a function of the application has returned. Undefined for nothing, and for text that is no
 * IP address, which gives one warning: as a key, such a text would be a quota that its clients share, or that each client chooses.
 * @param option the name of the function
 * @throws HeadgateError `HEADGATE_OPTION` for a promise, and for any other value that is no text
 */
export function toldAddress(told: unknown, option: string): string | undefined {
  if (told === undefined || told === null) return undefined
  if (typeof told !== 'string') throw notText(told, option)
  if (tellsAddress(told)) return told
  warnOnce(
    'HEADGATE_NO_ADDRESS',
    `${option} returned ${shown(told)}, which is no IP address, so the request has none: a limit by address refuses it with ` +
      '403. Return one address. If a field may hold a list, such as X-Forwarded-For, return the address of the nearest proxy ' +
      "and write trustedProxies: 1, or write keys: byIp({ platform: 'nginx' }) or another platform.",
  )
  return undefined
}

function notText(told: unknown, option: string): HeadgateError {
  // Nobody else waits for it: a rejection would end the process.
  if (isPromise(told)) void Promise.resolve(told).catch(() => undefined)
  return new HeadgateError(
    'HEADGATE_OPTION',
    `${option} must return the client's address as a text at once, got ${isPromise(told) ? 'a promise' : shown(told)}. ` +
      'Await it before the limiter, and return the text. Return undefined if there is no address.',
  )
}
