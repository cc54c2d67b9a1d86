import express from 'express'
import { slidingLog } from 'headgate'
import { rateLimit } from 'headgate/express'
import { Pacer, pacedFetch } from 'headgate/pacer'

/** The API of another service: pages of ten items, and a hard limit of calls a second. */
export function createApi({ pages = 40, perSecond = 20 } = {}) {
  const app = express().disable('x-powered-by')
  app.use(rateLimit({ policies: slidingLog({ limit: perSecond, window: '1s' }), headers: 'draft-11' }))
  app.get('/items', (request, response) => {
    const page = Number(request.query.page ?? 1)
    const items = Array.from({ length: 10 }, (_, n) => `item ${(page - 1) * 10 + n + 1}`)
    response.json({ page, pages, items })
  })
  return app
}

/**
 * Reads every item of such an API, in order, at its pace and a few requests at once. If a request is refused all the same,
 * because others share the limit, all requests wait until the time that the server names.
 */
export async function collect(url, { perSecond = 20, concurrency = 4, onPage = (_page) => {} } = {}) {
  // A little slower than allowed, because a request may take up to 50 ms longer on its way than the one before it.
  const pacer = new Pacer(slidingLog({ limit: perSecond, window: 1050 }), { concurrency })
  const get = pacedFetch(fetch, { pacer })
  const page = async (number) => {
    const response = await get(`${url}/items?page=${number}`)
    if (!response.ok) throw new Error(`page ${number}: ${response.status}`)
    const answer = /** @type {{ page: number, pages: number, items: string[] }} */ (await response.json())
    onPage(answer)
    return answer
  }
  const first = await page(1)
  const rest = Array.from({ length: first.pages - 1 }, (_, n) => page(n + 2))
  const answers = [first, ...(await Promise.all(rest))]
  return { items: answers.flatMap(({ items }) => items), waited: pacer.progress.waited }
}
