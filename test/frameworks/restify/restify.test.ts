import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
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

type Next = (error?: unknown) => void

/** Statuses of requests to a server of Restify with this middleware, and how often the handler ran. */
async function ask(middleware: unknown, count: number) {
  const server = restify.createServer()
  let handled = 0
  server.use(middleware)
  server.get('/', (_request, response, next) => {
    handled++
    response.send('done')
    next()
  })
  server.listen(0, '127.0.0.1')
  await once(server as never, 'listening')
  const statuses: number[] = []
  for (let n = 0; n < count; n++) {
    statuses.push((await fetch(`http://127.0.0.1:${server.server.address().port}/`)).status)
  }
  server.close()
  return { answered: [statuses, handled], server }
}

// Restify runs the next handler when the promise of a handler is fulfilled.
test.each([
  ['at once', () => 'ann'],
  ['later', async () => 'ann'],
])(
  'in Restify, an admitted request is handled once and a refused one never, if the limit decides %s',
  async (_when, keys) => {
    const { answered, server } = await ask(rateLimit({ policies: '2/1h', keys }), 4)
    expect(answered).toEqual([[200, 200, 429, 429], 2])
    await expect.poll(() => server.inflightRequests()).toBe(0)
  },
)

test('in Restify, a function next of the application never runs for a refused request', async () => {
  const limit = rateLimit('2/1h')
  const middleware = (request: IncomingMessage, response: ServerResponse, next: Next) =>
    limit(request, response, (error) => (error ? next(error) : next()))
  expect((await ask(middleware, 4)).answered).toEqual([[200, 200, 429, 429], 2])
})

test('in Restify, refuse may send its response later', async () => {
  const limit = rateLimit('1/1h', {
    refuse: (_decision, _request, response) => {
      setTimeout(() => {
        response.statusCode = 430
        response.end()
      }, 20)
    },
  })
  expect((await ask(limit, 3)).answered).toEqual([[200, 430, 430], 1])
})

test('beside Restify, which changes the requests of all servers, other middleware never runs for a refused request', async () => {
  const limit = rateLimit('2/1h')
  let handled = 0
  const server = createServer((request, response) => {
    limit(request, response, () => {
      handled++
      response.end()
    })
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const statuses: number[] = []
  for (let n = 0; n < 4; n++) {
    statuses.push((await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`)).status)
  }
  server.close()
  expect([statuses, handled]).toEqual([[200, 200, 429, 429], 2])
})
