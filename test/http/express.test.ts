import { createServer, type Server } from 'node:http'
import type { AddressInfo } from 'node:net'
import express, { type Express, Router } from 'express'
import { afterEach, expect, test } from 'vitest'
import { rateLimit } from '../../adapters/express.ts'
import { byIp, byRoute, combine } from '../../src/index.ts'
import { get } from '../support/frameworks.ts'

/** What only Express has: routers mounted on paths, and responses that have begun before a middleware runs. */
let server: Server
afterEach(() => {
  server.close()
  server.closeAllConnections()
})

async function serve(app: Express): Promise<(path: string) => Promise<number>> {
  server = createServer(app)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return async (path) => (await get(`http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`)).status
}

test('by route: neither letter case nor the parameters of a mount path make a new key', async () => {
  const app = express()
  const byBoth = () => rateLimit({ limit: 1, window: '1h', keys: combine(byIp(), byRoute()) })
  app.use('/api', byBoth(), (_request, response) => void response.send('api'))
  app.use('/u/:id', byBoth(), (_request, response) => void response.send('user'))
  const router = Router()
  router.get('/:page', byBoth(), (_request, response) => void response.send('page'))
  app.use('/book/:id', router)
  const status = await serve(app)
  expect([await status('/api'), await status('/API'), await status('/aPi/x')]).toEqual([200, 429, 429])
  expect([await status('/u/1'), await status('/u/2'), await status('/u/3')]).toEqual([200, 429, 429])
  expect([await status('/book/1/2'), await status('/book/3/4'), await status('/BOOK/1/2')]).toEqual([200, 429, 429])
})

test('a refusal that comes when the response has begun ends it instead of leaving it open', async () => {
  const app = express()
  app.use((_request, response, next) => {
    response.write('early')
    next()
  })
  app.use(rateLimit('1/1h'))
  app.use((_request, response) => void response.end('late'))
  const status = await serve(app)
  expect(await status('/')).toBe(200)
  await expect(status('/')).rejects.toThrow(/aborted|hang up/)
})

test('a route keeps the types of its parameters', async () => {
  const app = express()
  app.get('/users/:id', rateLimit('9/1h'), (request, response) => {
    const id: string = request.params.id
    response.status(id === '7' && request.rateLimit?.allowed ? 200 : 500).end()
  })
  expect(await (await serve(app))('/users/7')).toBe(200)
})
