import { HeadgateError } from '../errors.ts'

const defaultFix = 'Check the connection, or set a longer timeout.'

/**
 * The error of a call that timed out.
 * @param who the name of the store in the message
 * @param timeout in milliseconds
 * @param fix what the user can do
 */
export function timeoutError(who: string, timeout: number, fix: string = defaultFix): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_TIMEOUT',
    `${who} did not respond within ${timeout} ms. The call may have counted. ${fix}`,
  )
}
