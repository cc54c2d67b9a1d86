import { policy } from 'headgate'
import { quota } from 'headgate/calendar'
import { isQuota } from './is-quota.mjs'

/** The policy that a text means to `quota`, if it limits a period of the calendar, or to `policy`. @throws HeadgateError with the fix */
export function policyFrom(text) {
  return isQuota(text) ? quota(text) : policy(text)
}
