import { createServer, type IncomingHttpHeaders, request as send } from 'node:http'
import Router from '@koa/router'
import express5 from 'express'
import express4 from 'express4'
import fastify, { type RouteHandlerMethod } from 'fastify'
import Koa from 'koa'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { type FastifyRateLimit, rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import type { RequestDecision } from '../../src/index.ts'
import { nodeFrameworks } from './node-frameworks.ts'
import {
  type App,
  type AppOptions,
  connectionsOf,
  type Loose,
  ok,
  recorder,
  type Start,
  searchOf,
  serve,
  upgrading,
} from './served-app.ts'
import { webFrameworks } from './web-frameworks.ts'

export { type App, type AppOptions, serve, upgrading } from './served-app.ts'

export const frameworks: Record<string, Start> = {
  'Express 4': (options) => startExpress(express4, options),
  'Express 5': (options) => startExpress(express5, options),
  Koa: startKoa,
  Fastify: startFastify,
  ...nodeFrameworks,
  ...webFrameworks,
}

async function startExpress(express: typeof express5, options: AppOptions): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
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
  const answer: express5.RequestHandler = async (request, response, next) => {
    record(request.rateLimit)
    try {
      const status = await handle(request.rateLimit, request.url)
      if (!response.headersSent) response.status(status).send('ok')
    } catch (error) {
      next(error)
    }
  }
  app.get('/search', ...searchOf<express5.RequestHandler>(options, limiter, limiter), answer)
  app.use(limiter)
  app.get('/', answer)
  app.use((error: Error, _request: unknown, response: express5.Response, _next: unknown) => {
    response.status(500).send(error.message)
  })
  return { ...recorded, limiter: limiter.limiter, ...(await serve(createServer(app))) }
}

async function startKoa(options: AppOptions): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
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
  const answer: Koa.Middleware = async (context) => {
    record(context.state.rateLimit as RequestDecision)
    context.status = await handle(context.state.rateLimit as RequestDecision, context.url)
    context.body = 'ok'
  }
  router.get('/', limiter, answer)
  router.get('/search', ...searchOf<Koa.Middleware>(options, limiter, limiter), answer)
  app.use(router.routes())
  return { ...recorded, limiter: limiter.limiter, ...(await serve(createServer(app.callback()))) }
}

async function startFastify(options: AppOptions): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
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
  const answer: RouteHandlerMethod = async (request, reply) => {
    record(request.rateLimit)
    reply.code(await handle(request.rateLimit ?? undefined, request.url))
    return 'ok'
  }
  app.get('/', answer)
  const preHandler = searchOf<FastifyRateLimit['hook']>(options, limiter, limiter.hook)
  app.get('/search', { config: { rateLimit: false }, preHandler }, answer)
  upgrading(app.server)
  const url = await app.listen({ host: '127.0.0.1', port: 0 })
  return {
    ...recorded,
    limiter: limiter.limiter,
    url,
    connections: connectionsOf(app.server),
    close: () => app.close(),
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
