import { Controller, type ExecutionContext, Get } from '@nestjs/common'
import { byHeader } from 'headgate'
import { calendarWindow } from 'headgate/calendar'
import { RateLimit, RateLimitGuard, RateLimitModule, SkipRateLimit } from 'headgate/nest'
import request from 'supertest'
import { expect, test } from 'vitest'
import { everywhere, platforms, start, storeAt } from '../support/nest.ts'

const monthly = (limit: number) => calendarWindow({ limit, every: 'month', anchor: 'caller', timeZone: 'caller' })
const calendar = (context: ExecutionContext) => ({
  anchor: Number(context.switchToHttp().getRequest().headers['x-day']),
  timeZone: 'Europe/Berlin',
})

@Controller()
class Files {
  @Get()
  list() {
    return 'the limit of the module'
  }

  @RateLimit({ policies: monthly(1) })
  @Get('own')
  own() {
    return 'inherits the calendar'
  }

  @RateLimit({
    policies: calendarWindow({ limit: 1, every: 'day', timeZone: 'caller' }),
    calendar: () => ({ timeZone: 'Asia/Tokyo' }),
  })
  @Get('day')
  day() {
    return 'another calendar'
  }

  @RateLimit('5/1m')
  @Get('none')
  none() {
    return 'asks for none'
  }

  @SkipRateLimit('month')
  @Get('skipped')
  skipped() {
    return 'nothing is left that asks'
  }
}

test.each(platforms)('handlers inherit the calendar of the module, or have their own, on %s', async (platform) => {
  const { store } = storeAt()
  const policies = [monthly(9), calendarWindow({ limit: 99, every: 'year' })]
  const options = { policies, store, calendar, keys: byHeader('x-user'), headers: 'draft-11' as const }
  const { url } = await start(platform, {
    imports: [RateLimitModule.forRoot(options)],
    controllers: [Files],
    providers: [everywhere],
  })
  const seen = []
  for (const path of ['/', '/own', '/own', '/day', '/none', '/skipped']) {
    const { status, headers } = await request(url).get(path).set({ 'x-user': 'bob', 'x-day': '15' })
    seen.push(`${path} ${status} ${headers['ratelimit-policy']} ${headers.ratelimit} ${headers['retry-after'] ?? '-'}`)
  }
  expect(seen).toEqual([
    '/ 200 "month";q=9, "year";q=99 "month";r=8;t=1206000, "year";r=98;t=31536000 -',
    '/own 200 "month";q=1 "month";r=0;t=1206000 -',
    '/own 429 "month";q=1 "month";r=0;t=1206000 1206000',
    '/day 200 "day";q=1 "day";r=0;t=54000 -',
    expect.stringMatching(/^\/none 200 "1m";q=5;w=60 /),
    '/skipped 200 "year";q=99 "year";r=97;t=31536000 -',
  ])
})

test('a handler that asks for a calendar, and gets none, keeps the application from starting', async () => {
  @Controller()
  class Forgotten {
    @RateLimit({ policies: monthly(1) })
    @Get()
    list() {}
  }
  const metadata = {
    imports: [RateLimitModule.forRoot({ limit: false })],
    controllers: [Forgotten],
    providers: [RateLimitGuard],
  }
  await expect(start('Express', metadata)).rejects.toMatchObject({
    code: 'HEADGATE_CALENDAR',
    message: expect.stringMatching(/@RateLimit at Forgotten\.list: The policy "month" has anchor: 'caller'/),
  })
})
