import { expect, test } from 'vitest'
import { calendarWindow } from '../../src/calendar/index.ts'
import { Pacer } from '../../src/pacer/index.ts'
import { ManualClock } from '../../src/testing/index.ts'

test('calls wait for the next window of a calendar, also for longer than a timer of the runtime can', async () => {
  const clock = new ManualClock(Date.UTC(2026, 0, 31, 23, 59))
  const policies = calendarWindow({ limit: 2, every: 'month', timeZone: 'Europe/London' })
  const pacer = new Pacer({ policies, clock: clock.now, sleeper: clock.sleeper })
  const times: string[] = []
  const note = () => void times.push(new Date(clock.milliseconds).toISOString())
  for (let call = 0; call < 3; call++) void pacer.acquire().then(note)
  for (let call = 0; call < 4; call++) void pacer.throttle(note)
  await clock.pass('100d')
  expect(times).toEqual([
    ...['2026-01-31T23:59:00.000Z', '2026-01-31T23:59:00.000Z'],
    ...['2026-02-01T00:00:00.000Z', '2026-02-01T00:00:00.000Z'],
    ...['2026-03-01T00:00:00.000Z', '2026-03-01T00:00:00.000Z'],
    '2026-03-31T23:00:00.000Z',
  ])
  expect(clock.sleeping).toBe(0)
})
