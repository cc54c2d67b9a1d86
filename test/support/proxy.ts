import { connect, createServer, type Server, type Socket } from 'node:net'

export interface Proxy {
  readonly port: number
  /** `'hang'` passes nothing on; `'lose answers'` passes on what is asked and cuts the line at the answer. */
  fault: 'hang' | 'lose answers' | undefined
  /** How many answers still pass before they are lost. */
  spared: number
  close(): void
}

/** Between a client and a server on this machine. */
export async function startProxy(port: number): Promise<Proxy> {
  const sockets = new Set<Socket>()
  const server: Server = createServer()
  const proxy: Proxy = {
    get port() {
      return (server.address() as { port: number }).port
    },
    fault: undefined,
    spared: 0,
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
    near.on('data', (asked) => {
      if (proxy.fault !== 'hang') far.write(asked)
    })
    far.on('data', (answer) => {
      if (proxy.fault === undefined || (proxy.fault === 'lose answers' && proxy.spared-- > 0)) near.write(answer)
      else if (proxy.fault === 'lose answers') near.destroy()
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return proxy
}
