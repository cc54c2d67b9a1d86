import express from 'express'
import { fixedWindow, tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

export function createApp() {
  const app = express()

  // Every route: 100 requests in 15 minutes for each client address.
  app.use(rateLimit('100/15m'))

  // Two limits on one route, decided together: 10 a second, and 1,000 a day.
  const search = rateLimit({
    policies: [
      tokenBucket({ name: 'burst', limit: 10, window: '1s' }),
      fixedWindow({ name: 'daily', limit: 1000, window: '1d' }),
    ],
    headers: ['legacy', 'draft-11'],
  })
  app.get('/search', search, (request, response) => {
    response.json({ found: [], left: request.rateLimit.remaining })
  })

  app.get('/', (_request, response) => {
    response.send('Hello.\n')
  })
  return app
}
