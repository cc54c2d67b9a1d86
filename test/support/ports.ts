import { createServer } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'

const host = '127.0.0.1'

/** A free port whose Redis cluster bus port (10000 above) exists too. */
export async function freePort(): Promise<number> {
  for (;;) {
    const listener = createServer()
    await new Promise<void>((resolve) => listener.listen(0, host, resolve))
    const { port } = listener.address() as { port: number }
    await new Promise((resolve) => listener.close(resolve))
    if (port < 55000) return port
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
