import { createServer, type IncomingHttpHeaders, type Server, request as send } from 'node:http'
import type { AddressInfo } from 'node:net'
import Router from '@koa/router'
import express5 from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import Koa from 'koa'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import type { Decision } from '../../src/index.ts'

/** What an app of the contract suite is told; everything else about it is the same on every framework. */
export interface AppOptions {
  /** What `rateLimit` is given. Functions in it get the framework's own request. */
  limit: unknown
  /** Trust the one proxy in front, or everybody. */
  proxies?: 1 | 'everybody'
  /** Answers before the limiter runs, as a middleware that got there first. */
  answerFirst?: boolean
}

/** A served app with `GET /`, `GET /users/:id`, and an error handler that answers 500 with the error's message. */
export interface App {
  url: string
  /** How often a handler ran. */
  handled: () => number
  /** The decision that the last handler found where the framework keeps it. */
  decision: () => Decision | undefined
  close: () => Promise<void>
}

type Start = (options: AppOptions) => Promise<App>
// Each framework has its own request type; the contract suite only uses what all of them have.
type Loose = never

export const frameworks: Record<string, Start> = {
  'Express 4': (options) => startExpress(express4, options),
  'Express 5': (options) => startExpress(express5, options),
  Koa: startKoa,
  Fastify: startFastify,
}

function counters() {
  let handled = 0
  let decision: Decision | undefined
  return {
    handle(found: Decision | null | undefined) {
      handled++
      decision = found ?? undefined
    },
    told: { handled: () => handled, decision: () => decision },
  }
}

async function startExpress(express: typeof express5, { limit, proxies, answerFirst }: AppOptions): Promise<App> {
  const { handle, told } = counters()
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
    handle(request.rateLimit)
    response.send('user')
  })
  app.use(limiter)
  app.get('/', (request, response) => {
    handle(request.rateLimit)
    if (!response.headersSent) response.send('ok')
  })
  app.use((error: Error, _request: unknown, response: express5.Response, _next: unknown) => {
    response.status(500).send(error.message)
  })
  return { ...told, ...(await serve(createServer(app))) }
}

async function startKoa({ limit, proxies, answerFirst }: AppOptions): Promise<App> {
  const { handle, told } = counters()
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
    handle(context.state.rateLimit as Decision)
    context.body = 'user'
  })
  router.get('/', limiter, (context) => {
    handle(context.state.rateLimit as Decision)
    context.body = 'ok'
  })
  app.use(router.routes())
  return { ...told, ...(await serve(createServer(app.callback()))) }
}

async function startFastify({ limit, proxies, answerFirst }: AppOptions): Promise<App> {
  const { handle, told } = counters()
  // Fastify no longer believes a number of hops: the proxy's own address is named instead.
  const trustProxy = proxies === 'everybody' ? true : proxies === undefined ? false : '127.0.0.1'
  const app = fastify({ trustProxy, forceCloseConnections: true })
  if (answerFirst) {
    app.addHook('onRequest', (_request, reply, next) => {
      reply.hijack()
      reply.raw.end('first')
      next()
    })
  }
  await app.register(forFastify(limit as Loose))
  app.setErrorHandler((error: Error, _request, reply) => {
    reply.code(500).send(error.message)
  })
  for (const path of ['/', '/users/:id']) {
    app.get(path, async (request) => {
      handle(request.rateLimit)
      return path === '/' ? 'ok' : 'user'
    })
  }
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return { ...told, url, close: () => app.close() }
}

async function serve(server: Server): Promise<Pick<App, 'url' | 'close'>> {
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve())
        server.closeAllConnections()
      }),
  }
}

export interface Answer {
  status: number
  headers: IncomingHttpHeaders
  body: string
}

/** One request over a socket of its own. */
export function get(url: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const request = send(url, { headers, method, agent: false }, (response) => {
      let body = ''
      response.setEncoding('utf8')
      response.on('data', (chunk) => {
        body += chunk
      })
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }))
    })
    request.on('error', reject)
    request.end()
  })
}
