import { policy } from 'headgate'
import { quota } from 'headgate/calendar'

/** True if a text limits a period of the calendar, such as `1000/month` or `500/day Europe/Berlin`. */
export function isQuota(text) {
  return /\/\s*(\d+\s+)?(day|week|month|quarter|year)s?\b/i.test(text)
}

/** The policy that a text means to `quota`, if it limits a period of the calendar, or to `policy`. @throws HeadgateError with the fix */
export function policyFrom(text) {
  return isQuota(text) ? quota(text) : policy(text)
}
