import { createServer, type IncomingHttpHeaders, type Server, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import express5 from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import Koa from 'koa'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { type FastifyRateLimit, rateLimit as forFastify } from '../../adapters/fastify.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import type { PlanLimiter, RateLimiter, RequestDecision } from '../../src/index.ts'

/** How an app of the contract suite is made. Everything else about it is the same on every framework. */
export interface AppOptions {
  /** The argument of `rateLimit`. Functions in it get the framework's own request. */
  limit: unknown
  /** Trust the one proxy in front, or every proxy. */
  proxies?: 1 | 'everybody'
  /** A middleware answers before the limiter runs. */
  answerFirst?: boolean
  /** Handles `GET /` with the decision; the response has the status that this returns. */
  handle?: (decision: RequestDecision | undefined, url: string) => number | Promise<number>
}

/** A served app with `GET /`, `GET /users/:id`, and an error handler that answers 500 with the error's message. */
export interface App {
  url: string
  /** The limiter of the middleware. */
  limiter: RateLimiter | PlanLimiter
  /** How often a handler ran. */
  handled: () => number
  /** The decision that the last handler found on its request. */
  decision: () => RequestDecision | undefined
  /** How many sockets are open. */
  connections: () => Promise<number>
  close: () => Promise<void>
}

type Start = (options: AppOptions) => Promise<App>
// Each framework has its own request type. The contract suite uses only what all of them have.
type Loose = string

export const frameworks: Record<string, Start> = {
  'Express 4': (options) => startExpress(express4, options),
  'Express 5': (options) => startExpress(express5, options),
  Koa: startKoa,
  Fastify: startFastify,
}

const ok = () => 200

/** Records the decisions that handlers find. */
function recorder() {
  let handled = 0
  let decision: RequestDecision | undefined
  return {
    record(found: RequestDecision | null | undefined) {
      handled++
      decision = found ?? undefined
    },
    recorded: { handled: () => handled, decision: () => decision },
  }
}

async function startExpress(
  express: typeof express5,
  { limit, proxies, answerFirst, handle = ok }: AppOptions,
): Promise<App> {
  const { record, recorded } = recorder()
  const app = express()
  if (proxies !== undefined) app.set('trust proxy', proxies === 'everybody' ? true : proxies)
  if (answerFirst) {
    app.use((_request, response, next) => {
      response.end('first')
      next()
    })
  }
  const limiter = forExpress(limit as Loose)
  app.get('/users/:id', limiter, (request, response) => {
    record(request.rateLimit)
    response.send('user')
  })
  app.use(limiter)
  app.get('/', async (request, response, next) => {
    record(request.rateLimit)
    try {
      const status = await handle(request.rateLimit, request.url)
      if (!response.headersSent) response.status(status).send('ok')
    } catch (error) {
      next(error)
    }
  })
  app.use((error: Error, _request: unknown, response: express5.Response, _next: unknown) => {
    response.status(500).send(error.message)
  })
  return { ...recorded, limiter: limiter.limiter, ...(await serve(createServer(app))) }
}

async function startKoa({ limit, proxies, answerFirst, handle = ok }: AppOptions): Promise<App> {
  const { record, recorded } = recorder()
  const app = new Koa({ proxy: proxies !== undefined, maxIpsCount: proxies === 1 ? 1 : 0 })
  app.silent = true
  app.use(async (context, next) => {
    try {
      await next()
    } catch (error) {
      context.status = 500
      context.body = (error as Error).message
    }
  })
  if (answerFirst) {
    app.use(async (context, next) => {
      context.respond = false
      context.res.statusCode = 200
      context.res.end('first')
      await next()
    })
  }
  const limiter = forKoa(limit as Loose)
  const router = new Router()
  router.get('/users/:id', limiter, (context) => {
    record(context.state.rateLimit as RequestDecision)
    context.body = 'user'
  })
  router.get('/', limiter, async (context) => {
    record(context.state.rateLimit as RequestDecision)
    context.status = await handle(context.state.rateLimit as RequestDecision, context.url)
    context.body = 'ok'
  })
  app.use(router.routes())
  return { ...recorded, limiter: limiter.limiter, ...(await serve(createServer(app.callback()))) }
}

async function startFastify({ limit, proxies, answerFirst, handle = ok }: AppOptions): Promise<App> {
  const { record, recorded } = recorder()
  // Fastify 5 has no number of hops: give the proxy's own address.
  const trustProxy = proxies === 'everybody' ? true : proxies === undefined ? false : '127.0.0.1'
  const app = fastify({ trustProxy, forceCloseConnections: true })
  if (answerFirst) {
    app.addHook('onRequest', (_request, reply, next) => {
      reply.hijack()
      reply.raw.end('first')
      next()
    })
  }
  const limiter: FastifyRateLimit = forFastify(limit as Loose)
  await app.register(limiter)
  app.setErrorHandler((error: Error, _request, reply) => {
    reply.code(500).send(error.message)
  })
  app.get('/users/:id', async (request) => {
    record(request.rateLimit)
    return 'user'
  })
  app.get('/', async (request, reply) => {
    record(request.rateLimit)
    reply.code(await handle(request.rateLimit ?? undefined, request.url))
    return 'ok'
  })
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...recorded,
    limiter: limiter.limiter,
    url,
    connections: connectionsOf(app.server),
    close: () => app.close(),
  }
}

function connectionsOf(server: Server): () => Promise<number> {
  return () => new Promise((resolve) => server.getConnections((_error, count) => resolve(count)))
}

export async function serve(server: Server): Promise<Pick<App, 'url' | 'connections' | 'close'>> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    connections: connectionsOf(server),
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

/** A response that has arrived completely. */
export interface Received {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** Sends one request over a socket of its own. */
export function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Received> {
  return new Promise((resolve, reject) => {
    const request = send(url, { headers, method, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('error', reject)
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    request.on('error', reject)
    request.end()
  })
}
