import { HeadgateError } from '../errors.ts'

const look = 'Look at its connection, or give it a longer timeout.'

/** The error of a call that has had no answer. @param who ought to have answered. @param timeout in milliseconds */
export function unanswered(who: string, timeout: number, fix: string = look): HeadgateError {
  return new HeadgateError(
    'HEADGATE_STORE_TIMEOUT',
    `${who} did not answer within ${timeout} ms. Whether the call counted is not known. ${fix}`,
  )
}
