import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import { WebSocket, WebSocketServer } from 'ws'
import { limitMessages, type Notice } from '../../adapters/sockets/index.ts'
import type { LimitedServer, ServerSide, SocketClient, SocketLibrary } from './socket-library.ts'

/** The package `ws`, with a listener for `message` as any application has it. */
export const wsLibrary: SocketLibrary = {
  closedByLimit: '1013 Too many messages.',
  holdsClose: true,
  mostBuffered: 65_536 + 200,
  async serve(policies, { cost, notify, ...options } = {}, listens = false): Promise<LimitedServer> {
    const server = new WebSocketServer({ host: '127.0.0.1', port: 0 })
    await once(server, 'listening')
    const url = `ws://127.0.0.1:${(server.address() as AddressInfo).port}`
    const delivered: string[] = []
    const connections: ServerSide[] = []
    server.on('connection', (socket) => {
      const limit = limitMessages(socket, policies, {
        ...options,
        ...(cost !== undefined && { cost: typeof cost === 'function' ? ([data]) => cost(data.toString()) : cost }),
        ...(notify && { notify: ({ message: [data], ...refusal }) => notify({ ...refusal, text: data.toString() }) }),
      })
      const side: ServerSide = { limit, errors: [], closed: false, buffered: () => socket.bufferedAmount }
      connections.push(side)
      socket.on('message', (data) => delivered.push(data.toString()))
      socket.on('close', () => {
        side.closed = true
      })
      if (listens) socket.on('error', (error) => side.errors.push(error))
    })
    const clients: WebSocket[] = []
    return {
      url,
      delivered,
      connections,
      async connect() {
        const accepted = once(server, 'connection')
        const client = new WebSocket(url)
        clients.push(client)
        await Promise.all([once(client, 'open'), accepted])
        return clientOf(client)
      },
      async close() {
        for (const client of clients) client.terminate()
        for (const socket of server.clients) socket.terminate()
        await new Promise((resolve) => server.close(resolve))
      },
    }
  },
}

function clientOf(client: WebSocket): SocketClient {
  const notices: Notice[] = []
  client.on('message', (data) => notices.push(JSON.parse(data.toString())))
  const side: SocketClient = {
    notices,
    ended: undefined,
    send(...texts) {
      for (const text of texts) client.send(text)
    },
    vanish: () => client.terminate(),
    stopReading: () => client.pause(),
    close: () => client.close(),
  }
  client.on('close', (code, reason) => {
    side.ended = `${code} ${reason.toString().split('.')[0]}.`
  })
  client.on('error', () => {})
  return side
}
