import { connect, createServer, type Socket } from 'node:net'

/** A line between a client and a server on loopback that can be made bad. */
export interface TcpProxy {
  readonly port: number
  /** Accepts and answers nothing. */
  silent: boolean
  /** How many milliseconds whatever is sent takes, each way. */
  delay: number
  /** Cuts a connection instead of every so manieth answer; 0 for never. */
  cutEvery: number
  /** Cuts all connections. */
  cut(): void
  close(): void
}

export async function startProxy(to: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const server = createServer()
  let answers = 0
  const proxy = {
    port: 0,
    silent: false,
    delay: 0,
    cutEvery: 0,
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    close() {
      proxy.cut()
      server.close()
    },
  }
  const pass = (chunk: Buffer, socket: Socket) => {
    if (proxy.silent) return
    if (proxy.delay === 0) socket.write(chunk)
    else setTimeout(() => socket.writable && socket.write(chunk), proxy.delay)
  }
  server.on('connection', (near) => {
    const far = connect(to, '127.0.0.1')
    for (const [socket, other] of [
      [near, far],
      [far, near],
    ] as const) {
      sockets.add(socket)
      socket.on('error', () => undefined)
      socket.on('close', () => {
        sockets.delete(socket)
        other.destroy()
      })
    }
    near.on('data', (chunk) => pass(chunk, far))
    far.on('data', (chunk) => {
      if (proxy.cutEvery > 0 && ++answers % proxy.cutEvery === 0) near.destroy()
      else pass(chunk, near)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.port = (server.address() as { port: number }).port
  return proxy
}
