/** True if the text of a policy limits a period of the calendar, such as `1000/month` or `500/day Europe/Berlin`. */
export function isQuota(text) {
  return /\/\s*(\d+\s+)?(day|week|month|quarter|year)s?\b/i.test(text)
}
