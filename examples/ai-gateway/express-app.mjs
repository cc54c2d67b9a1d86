import { once } from 'node:events'
import express from 'express'
import { byHeader, memoryStore } from 'headgate'
import { rateLimit } from 'headgate/express'
import { askModel } from './ask-model.mjs'
import { budget, estimateOf, policiesOf, problemOf } from './budget.mjs'
import { Usage } from './usage.mjs'

/** @param {{ modelUrl: string, limits?: typeof budget, store?: import('headgate').Store }} options */
export function createApp({ modelUrl, limits = budget, store = memoryStore() }) {
  const app = express().disable('x-powered-by')

  // The estimate is taken before the request reaches the model. The middleware holds the unit of `at-once`, and renews its
  // lease, until the response has ended.
  const limit = rateLimit({
    name: 'gateway',
    policies: policiesOf(limits),
    keys: byHeader('x-api-key'),
    cost: ({ body }) => estimateOf(body),
    settle: true,
    headers: 'draft-11',
    problem: true,
    store,
  })

  app.use(express.json(), (request, response, next) => {
    const problem = request.get('x-api-key') ? problemOf(request.body) : 'Which x-api-key?'
    if (problem === undefined) next()
    else response.status(400).json({ error: problem })
  })

  app.post('/v1/chat/completions', limit, async (request, response) => {
    const usage = new Usage(request.body)
    const left = new AbortController()
    const leave = () => left.abort()
    const { socket } = request
    socket.once('close', leave) // Node 20 and 22 never close a response that waits behind another one on its connection
    try {
      const stream = await askModel(modelUrl, request.body, usage, left.signal)
      response.type('text/event-stream')
      for await (const bytes of stream) {
        usage.read(bytes)
        if (!response.write(bytes)) await once(response, 'drain', { signal: left.signal })
      }
      response.end()
    } catch {
      if (response.headersSent) response.destroy()
      else response.status(502).json({ error: 'The model is not available.' })
    } finally {
      socket.off('close', leave)
      await request.rateLimit.settle(usage.cost)
    }
  })
  return Object.assign(app, { limiter: limit.limiter })
}
