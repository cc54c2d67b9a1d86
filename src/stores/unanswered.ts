import { HeadgateError } from '../errors.ts'

const defaultFix = 'Check the connection, or set a longer timeout.'

/**
 * The error of a call without an answer.
 * @param who the name of what should have answered
 * @param timeout in milliseconds
 * @param fix what the user can do
 */
export function unanswered(who: string, timeout: number, fix: string = defaultFix): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_TIMEOUT',
    `${who} did not answer within ${timeout} ms. The call may have counted. ${fix}`,
  )
}
