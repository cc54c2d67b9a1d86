import { once } from 'node:events'
import { createRequire } from 'node:module'
import type { AddressInfo } from 'node:net'
import { rateLimit } from 'headgate/node'
import { expect, test } from 'vitest'

/** The part of a server of Restify that this test uses. Restify has no types of its own. */
interface Server {
  readonly server: { address(): AddressInfo }
  use(handler: unknown): void
  get(path: string, handler: (request: unknown, response: { send(body: string): void }, next: () => void) => void): void
  on(event: 'uncaughtException', listener: (request: unknown, response: unknown, error: Error) => void): void
  listen(port: number, host: string): void
  once(event: 'listening', listener: () => void): unknown
  /** The requests that Restify counts as not ended. */
  inflightRequests(): number
  close(): void
}

const restify: { createServer(): Server } = createRequire(import.meta.url)('restify')

// Restify runs the next handler when the promise of a handler is fulfilled.
test.each([
  ['at once', () => 'ann'],
  ['later', async () => 'ann'],
])(
  'in Restify, an admitted request is handled once and a refused one never, if the limit decides %s',
  async (_when, keys) => {
    const server = restify.createServer()
    let handled = 0
    server.use(rateLimit({ policies: '2/1h', keys }))
    server.get('/', (_request, response, next) => {
      handled++
      response.send('done')
      next()
    })
    server.listen(0, '127.0.0.1')
    await once(server as never, 'listening')
    const statuses: number[] = []
    for (let n = 0; n < 4; n++) {
      statuses.push((await fetch(`http://127.0.0.1:${server.server.address().port}/`)).status)
    }
    server.close()
    expect([statuses, handled]).toEqual([[200, 200, 429, 429], 2])
    await expect.poll(() => server.inflightRequests()).toBe(0)
  },
)
