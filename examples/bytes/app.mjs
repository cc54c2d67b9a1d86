import express from 'express'
import { tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

/** One MiB an hour for each client. The size of a response is known only when it is sent, so 1 KiB is held until then. */
const bytes = rateLimit({
  policies: tokenBucket({ name: 'bytes', limit: 1024 * 1024, window: '1h' }),
  cost: 1024,
  settle: true,
})

/** Settles with the bytes that were sent, head and body, also if the client left halfway. */
function meter(request, response, next) {
  const { socket } = request
  const before = socket.bytesWritten
  response.once('close', () => request.rateLimit.settle(socket.bytesWritten - before))
  next()
}

export function createApp() {
  const app = express()
  app.use(bytes, meter)
  app.get('/:size', (request, response) => {
    response.type('text').send('x'.repeat(Number(request.params.size)))
  })
  return app
}
