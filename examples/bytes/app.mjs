import { Readable } from 'node:stream'
import express from 'express'
import { tokenBucket } from 'headgate'
import { rateLimit } from 'headgate/express'

/** One MiB an hour for each client. The size of a response is known only when it is sent, so 1 KiB is held until then. */
const bytes = rateLimit({
  policies: tokenBucket({ name: 'bytes', limit: 1024 * 1024, window: '1h' }),
  cost: 1024,
  settle: true,
})

/** How many bytes of each connection are settled. */
const settled = new WeakMap()

/**
 * Settles with the bytes that were sent, head and body, also if the client left halfway. Responses on one connection end one after another,
 * so each has the bytes since the response before.
 */
function meter(request, response, next) {
  const { socket } = request
  response.once('close', () => {
    const sent = socket.bytesWritten - socket.writableLength
    request.rateLimit.settle(sent - (settled.get(socket) ?? 0))
    settled.set(socket, sent)
  })
  next()
}

/** Pieces of at most 16 KiB. A large response is written in pieces: Node counts each piece as sent when it is handed to the system. */
function* pieces(size) {
  for (let left = size; left > 0; left -= 16_384) yield 'x'.repeat(Math.min(left, 16_384))
}

export function createApp() {
  const app = express()
  app.use(bytes, meter)
  app.get('/:size', (request, response) => {
    response.type('text')
    Readable.from(pieces(Number(request.params.size))).pipe(response)
  })
  return app
}
