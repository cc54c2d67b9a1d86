import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const host = '127.0.0.1'

/**
 * A free port whose Redis cluster bus port (10000 above) is none that the system gives to clients either: a client that
 * tries again and again while its server is down would some time be given the server's own port, connect to itself, and
 * keep the server out.
 */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 10_000 + Math.floor(Math.random() * 10_000)
    const listener = createServer()
    const free = await new Promise<boolean>((resolve) => {
      listener.once('error', () => resolve(false))
      listener.listen(port, host, () => listener.close(() => resolve(true)))
    })
    if (free) return port
  }
}

/** Waits until a server is ready. */
export async function until(server: string, ready: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 500; tries++) {
    if (await ready().catch(() => false)) return
    await sleep(20)
  }
  throw new Error(`${server} is not ready after 10 s`)
}
