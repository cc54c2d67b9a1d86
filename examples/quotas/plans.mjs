import { slidingWindow } from 'headgate'
import { calendarWindow } from 'headgate/calendar'

/** Policies of the same name share their counts, so a customer who changes the plan in mid-month keeps what was used. */
export const plans = {
  free: limits({ perMonth: 1000, perMinute: 60 }),
  pro: limits({ perMonth: 50_000, perMinute: 600 }),
  unlimited: /** @type {const} */ ('unlimited'), // counts nothing
}

/** The months of a customer begin on the day of the subscription, in the customer's time zone: see `calendarOf`. */
function limits({ perMonth, perMinute }) {
  return [
    calendarWindow({
      name: 'month',
      limit: perMonth,
      every: 'month',
      anchor: 'caller',
      timeZone: 'caller',
      thresholds: [0.8, 1],
    }),
    slidingWindow({ name: 'minute', limit: perMinute, window: '1m' }),
  ]
}

/** @param {{ since: string, timeZone: string }} customer */
export function calendarOf({ since, timeZone }) {
  return { anchor: since, timeZone }
}

/** What each route takes from the month. Each request takes one unit of the minute. */
export const monthly = { '/search': 1, '/report': 25 }
