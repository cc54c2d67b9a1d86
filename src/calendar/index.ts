/*
 * `headgate/calendar`: quotas by the calendar, such as 10,000 a month from the day on which a customer subscribed. Only this
 * folder knows calendars and time zones. The arithmetic is in `algorithms/windows/calendar-window.ts`. This folder imports
 * `algorithms`, `policy` and `common`.
 */

export type { CallerCalendar, CallerCalendars } from '../policy/index.ts'
export { type CalendarWindowOptions, calendarWindow, type Period, quota } from './calendar-window.ts'
