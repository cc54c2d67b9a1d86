import { createServer } from 'node:http'
import { RateLimiter, slidingLog, tokenBucket } from 'headgate'
import { limitConnections, limitMessages, requestKey } from 'headgate/sockets'
import { WebSocketServer } from 'ws'

/** A chat room: everybody gets what anybody says. */
export function createApp() {
  const server = createServer()
  const room = new WebSocketServer({ server, maxPayload: 16_384 })

  // At most 4 connections of an address are open at once. The window is the longest that one counts.
  limitConnections(server, slidingLog({ limit: 4, window: '1d' }), { releaseOnClose: true })

  // One limiter for both: 5 messages a second from each connection, and 600 a minute from each address.
  const limiter = new RateLimiter({
    policies: [
      tokenBucket({ name: 'messages', limit: 5, window: '1s', scope: 'connection' }),
      slidingLog({ name: 'minute', limit: 600, window: '1m', scope: 'address' }),
    ],
  })

  room.on('connection', (socket, request) => {
    limitMessages(socket, limiter, { key: { address: requestKey(request) } })
    socket.on('message', (text) => {
      for (const member of room.clients) member.send(`${text}`)
    })
    socket.on('error', console.error)
  })
  return server
}
