import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const host = '127.0.0.1'

/**
 * A free port below those that the system assigns to clients, and so is its Redis cluster bus port, 10000 above. A client
 * that keeps reconnecting while its server is down could otherwise be assigned the server's port and connect to itself.
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
