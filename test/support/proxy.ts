import { connect, createServer, type Server, type Socket } from 'node:net'

export interface Proxy {
  readonly port: number
  /** `'hang'` passes nothing on. `'lose replies'` passes requests on, and closes the connection in place of a reply. */
  fault: 'hang' | 'lose replies' | undefined
  /** Bytes that follow each reply in the same packet. */
  appended: Buffer
  /** How many replies still pass before the next one is lost. */
  spared: number
  /** How many replies were lost. */
  lost: number
  close(): void
}

/** A proxy between a client and a server on this machine. */
export async function startProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const server: Server = createServer()
  const proxy: Proxy = {
    get port() {
      return (server.address() as { port: number }).port
    },
    fault: undefined,
    appended: Buffer.of(),
    spared: 0,
    lost: 0,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
  server.on('connection', (near) => {
    const far = connect(port, '127.0.0.1')
    for (const socket of [near, far]) {
      sockets.add(socket)
      socket.on('error', () => {})
      socket.on('close', () => {
        sockets.delete(socket)
        near.destroy()
        far.destroy()
      })
    }
    near.on('data', (request) => {
      if (proxy.fault !== 'hang') far.write(request)
    })
    far.on('data', (reply) => {
      if (proxy.fault === undefined || (proxy.fault === 'lose replies' && proxy.spared-- > 0))
        near.write(Buffer.concat([reply, proxy.appended]))
      else if (proxy.fault === 'lose replies') {
        proxy.lost++
        near.destroy()
      }
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return proxy
}
