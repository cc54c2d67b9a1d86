import express from 'express'
import { slidingWindow } from 'headgate'
import { rateLimit } from 'headgate/express'
import { redisStore } from 'headgate/redis'

/** An app that shares its limit with all processes on the same Redis. */
export function createApp(client, name) {
  const app = express()
  app.use(
    rateLimit({
      name: 'hello',
      policies: [slidingWindow({ limit: 10, window: '10s' })],
      keys: () => 'everybody',
      store: redisStore({ client }),
    }),
  )
  app.get('/', (_request, response) => {
    response.send(`Hello from process ${name}.\n`)
  })
  return app
}
