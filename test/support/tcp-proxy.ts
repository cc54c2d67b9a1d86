import { connect, createServer, type Socket } from 'node:net'

/** A proxy between a client and a server on loopback, whose connections can be made bad. */
export interface TcpProxy {
  readonly port: number
  /** The port where new connections lead. Those of now stay where they are, as behind a balancer. */
  to: number
  /** How many connections have come. */
  connections: number
  /** True to accept connections and pass nothing on. */
  silent: boolean
  /** What was not passed on, because the proxy was silent. */
  swallowed: string
  /** The latency in milliseconds, each way. */
  delay: number
  /** What is added to it for replies. */
  replyDelay: number
  /** Closes the connection in place of every n-th reply; 0 for never. */
  cutEvery: number
  /** The connections of now pass nothing on any more and stay open, as if the other end had vanished. New ones work. */
  forget(): void
  /** Closes all connections. */
  cut(): void
  close(): void
}

export async function startProxy(to: number): Promise<TcpProxy> {
  const sockets = new Set<Socket>()
  const server = createServer()
  let replies = 0
  const proxy = {
    port: 0,
    to,
    connections: 0,
    silent: false,
    swallowed: '',
    delay: 0,
    replyDelay: 0,
    cutEvery: 0,
    forget() {
      for (const socket of sockets) socket.removeAllListeners('data').resume()
    },
    cut() {
      for (const socket of sockets) socket.destroy()
    },
    close() {
      proxy.cut()
      server.close()
    },
  }
  const pass = (chunk: Buffer, socket: Socket, delay: number) => {
    if (proxy.silent) {
      proxy.swallowed += chunk.toString('latin1')
      return
    }
    if (delay === 0) socket.write(chunk)
    else setTimeout(() => socket.writable && socket.write(chunk), delay)
  }
  server.on('connection', (near) => {
    proxy.connections++
    const far = connect(proxy.to, '127.0.0.1')
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
    near.on('data', (chunk) => pass(chunk, far, proxy.delay))
    far.on('data', (chunk) => {
      if (proxy.cutEvery > 0 && ++replies % proxy.cutEvery === 0) near.destroy()
      else pass(chunk, near, proxy.delay + proxy.replyDelay)
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  proxy.port = (server.address() as { port: number }).port
  return proxy
}
