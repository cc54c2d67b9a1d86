import { H3 } from 'h3'
import { Hono } from 'hono'
import { FastResponse } from 'srvx'
import { expect, test } from 'vitest'
import { rateLimit } from '../../adapters/fetch.ts'
import { onSrvx } from '../support/web-frameworks.ts'

const wrong = (kind: typeof Response) => new kind('wrong', { status: 401, headers: { 'x-reason': 'password' } })
const h3App = new H3().all('/**', (event) => {
  event.res.status = 401
  event.res.headers.set('x-reason', 'password')
  return 'wrong'
})

/** srvx empties a FastResponse when it sends the response. */
test.each<[string, (request: Request) => Response | Promise<Response>]>([
  ['a FastResponse', () => wrong(FastResponse as never)],
  ['a Response', () => wrong(Response)],
  ['an app of h3', (request) => h3App.fetch(request)],
  ['an app of h3 in Hono', new Hono().mount('/', h3App.fetch).fetch],
])('on srvx, count judges %s by its status and its fields', async (_, handler) => {
  const counts = [
    'failures',
    ({ response }: { response?: Response }) => response?.headers.get('x-reason') === 'password',
  ]
  for (const count of counts as ['failures']) {
    const limit = rateLimit({ policies: '2/1h', count, keys: () => 'k' })
    const { url, close } = await onSrvx(limit.wrap(handler))
    const statuses: number[] = []
    for (let n = 0; n < 3; n++) {
      const response = await fetch(url)
      await response.text()
      const used = async () => (await limit.limiter.usage('k')).policies[0]?.used
      await expect.poll(used, { interval: 1 }).toBe(Math.min(2, n + 1))
      statuses.push(response.status)
    }
    await close()
    expect(statuses).toEqual([401, 401, 429])
  }
})
