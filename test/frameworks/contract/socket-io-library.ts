import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { Server, type Socket as ServerSocket } from 'socket.io'
import { io, type Socket } from 'socket.io-client'
import { limitMessages, type Notice } from '../../../adapters/sockets/index.ts'
import type { LimitedServer, ServerSide, SocketClient, SocketLibrary } from '../../support/socket-library.ts'

/** socket.io over WebSocket, with a listener for `say` as any application has it. */
export const socketIoLibrary: SocketLibrary = {
  closedByLimit: 'io server disconnect',
  holdsClose: false,
  mostBuffered: 1001,
  async serve(policies, { cost, notify, ...options } = {}, listens = false): Promise<LimitedServer> {
    const http = createServer().listen(0, '127.0.0.1')
    await once(http, 'listening')
    const server = new Server(http)
    const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}`
    const delivered: string[] = []
    const connections: ServerSide[] = []
    server.on('connection', (socket) => {
      const limit = limitMessages(socket, policies, {
        ...options,
        ...(cost !== undefined && { cost: typeof cost === 'function' ? ([, text]) => cost(text as string) : cost }),
        ...(notify && { notify: ({ message: [, text], ...refusal }) => notify({ ...refusal, text: text as string }) }),
      })
      const side: ServerSide = { limit, errors: [], closed: false, buffered: () => bufferOf(socket).length }
      connections.push(side)
      socket.on('say', (text: string, acknowledge?: (answer: string) => void) => {
        delivered.push(text)
        acknowledge?.('heard')
      })
      socket.on('disconnect', () => {
        side.closed = true
      })
      if (listens) socket.on('error', (error) => side.errors.push(error))
    })
    const clients: Socket[] = []
    return {
      url,
      delivered,
      connections,
      async connect() {
        const accepted = once(server as never, 'connection')
        const client = io(url, { transports: ['websocket'], reconnection: false, forceNew: true })
        clients.push(client)
        await Promise.all([new Promise((resolve) => client.on('connect', () => resolve(undefined))), accepted])
        return clientOf(client)
      },
      async close() {
        for (const client of clients) client.disconnect()
        await server.close()
      },
    }
  },
}

function bufferOf({ conn }: ServerSocket): readonly unknown[] {
  return (conn as unknown as { writeBuffer: readonly unknown[] }).writeBuffer
}

function clientOf(client: Socket): SocketClient {
  const notices: Notice[] = []
  const transport = () => client.io.engine.transport as unknown as { ws: { terminate(): void; pause(): void } }
  client.on('rate_limited', (notice: Notice) => notices.push(notice))
  const side: SocketClient = {
    notices,
    ended: undefined,
    send(...texts) {
      for (const text of texts) client.emit('say', text)
    },
    // The WebSocket of the transport is that of `ws`, and engine.io makes no other way to its TCP connection.
    vanish: () => transport().ws.terminate(),
    stopReading: () => transport().ws.pause(),
    close: () => void client.disconnect(),
  }
  client.on('disconnect', (reason) => {
    side.ended = reason
  })
  return side
}
