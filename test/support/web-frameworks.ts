import { createServer, type IncomingMessage, type Server } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import { getConnInfo } from '@hono/node-server/conninfo'
import { type EventHandler, H3, type Middleware, serve as serveH3 } from 'h3'
import { Hono, type Handler as HonoHandler } from 'hono'
import { serve as serveSrvx } from 'srvx'
import { rateLimit as forFetch } from '../../adapters/fetch.ts'
import { rateLimit as forH3 } from '../../adapters/h3.ts'
import type { H3OwnOptions } from '../../adapters/h3-framework.ts'
import { rateLimit as forHono, type RateLimitVariables } from '../../adapters/hono.ts'
import type { HonoOwnOptions } from '../../adapters/hono-framework.ts'
import { proxyOptions } from './node-frameworks.ts'
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

/**
 * Frameworks of Request and Response, each on a server that shows the response of Node, which tells when it has ended, and
 * on one that does not, so that the body has to tell.
 */
export const webFrameworks: Record<string, Start> = {
  'fetch on srvx': (options) => startFetch(options, onSrvx),
  'fetch on @hono/node-server': (options) => startFetch(options, onNodeServer),
  'Hono on @hono/node-server': (options) => startHono(options, { connInfo: getConnInfo }, onNodeServer),
  'Hono on srvx': (options) => startHono(options, { address: ({ req }) => ipOf(req.raw) }, onSrvx),
  'h3 on srvx': startH3,
  'fetch without Node': (options) => startFetch(options, withoutNode),
  'Hono without Node': (options) => startHono(options, { address: ({ req }) => ipOf(req.raw) }, withoutNode),
  'h3 without Node': startH3WithoutNode,
}

type Handler = (request: Request, context?: unknown) => Response | Promise<Response>
type Served = Pick<App, 'url' | 'connections' | 'close'>
type ServeHandler = (handler: Handler) => Promise<Served>

const srvxOptions = { port: 0, hostname: '127.0.0.1', silent: true, gracefulShutdown: false }

export async function onSrvx(handler: Handler): Promise<Served> {
  const server = serveSrvx({ ...srvxOptions, fetch: handler as never })
  return served(server)
}

async function served(server: ReturnType<typeof serveSrvx>): Promise<Served> {
  await server.ready()
  upgrading(server.node?.server as Server)
  const url = (server.url as string).replace(/\/$/, '')
  const connections = connectionsOf(server.node?.server as Server)
  return { url, connections, close: () => server.close(true) }
}

const natives = { Request, Response }

/** As on a runtime that has no response of Node. The server sets `ip`, as srvx does there. */
function withoutNode(handler: Handler): Promise<Served> {
  return onNodeServer((request, context) => {
    const ip = (context as NodeContext)?.incoming?.socket.remoteAddress
    return handler(Object.assign(request, { ip }))
  }, false)
}

/** This server puts classes of its own in place of the global ones, which the servers of other tests do not know. */
export async function onNodeServer(handler: Handler, overrideGlobalObjects = true): Promise<Served> {
  const options = { fetch: handler as never, createServer, overrideGlobalObjects }
  const { close, ...rest } = await serve(createAdaptorServer(options) as Server)
  return {
    ...rest,
    async close() {
      await close()
      Object.assign(globalThis, natives)
    },
  }
}

function ipOf(request: Request): string | undefined {
  return (request as { ip?: string }).ip
}

type NodeContext = { incoming?: IncomingMessage } | undefined

function routeOf({ url }: { url: string }): string {
  const { pathname } = new URL(url)
  return pathname.startsWith('/users/') ? '/users/:id' : pathname
}

/** A response with this status. Some statuses allow no body, and there is none after an upgrade. */
function okWith(status: number): Response | undefined {
  if (status === 101) return undefined
  return new Response([204, 205, 304].includes(status) ? null : 'ok', { status })
}

async function startFetch(options: AppOptions, serveOn: ServeHandler): Promise<App> {
  const { limit, proxies, handle = ok } = options
  const { record, recorded } = recorder()
  const limiter = forFetch<NodeContext>(limit as Loose, {
    address: (request, context) => ipOf(request) ?? context?.incoming?.socket.remoteAddress,
    route: routeOf,
    ...proxyOptions(proxies),
  })
  const answer = async (request: Request, _context: unknown) => {
    record(request.rateLimit)
    if (routeOf(request) === '/users/:id') return new Response('user')
    const { pathname, search } = new URL(request.url)
    return okWith(await handle(request.rateLimit, pathname + search))
  }
  const plain = limiter.wrap(answer)
  const search = searchOf<typeof limiter>(options, limiter, limiter).reduceRight(
    (handler, limit) => limit.wrap(handler),
    answer,
  )
  const limited = (request: Request, context: unknown) =>
    (routeOf(request) === '/search' ? search : plain)(request, context)
  const failing = async (request: Request, context: unknown) => {
    try {
      const [, id] = /\/users\/([^/?]+)/.exec(request.url) ?? []
      const response = await limited(request, Object.assign(context ?? {}, { params: { id } }))
      return response ?? new Response(null)
    } catch (error) {
      return new Response((error as Error).message, { status: 500 })
    }
  }
  return { ...recorded, limiter: limiter.limiter, ...(await serveOn(failing)) }
}

async function startHono(options: AppOptions, own: HonoOwnOptions, serveOn: ServeHandler): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
  const { record, recorded } = recorder()
  const app = new Hono<{ Variables: RateLimitVariables }>()
  if (answerFirst) {
    app.use(async (context, next) => {
      context.res = new Response('first')
      await next()
    })
  }
  const limiter = forHono(limit as Loose, { ...own, ...proxyOptions(proxies) })
  app.get('/users/:id', limiter, (context) => {
    record(context.var.rateLimit)
    return context.text('user')
  })
  const answer: HonoHandler<{ Variables: RateLimitVariables }> = async (context) => {
    record(context.var.rateLimit)
    const { pathname, search } = new URL(context.req.url)
    return okWith(await handle(context.var.rateLimit, pathname + search)) as Response
  }
  app.get('/', limiter, answer)
  app.on('GET', ['/search'], ...searchOf<typeof limiter>(options, limiter, limiter), answer)
  app.onError((error, context) => context.text(error.message, 500))
  return { ...recorded, limiter: limiter.limiter, ...(await serveOn(app.fetch as Handler)) }
}

function h3App(options: AppOptions, own: H3OwnOptions = {}) {
  const { limit, handle = ok } = options
  const { record, recorded } = recorder()
  const app = new H3({
    silent: true,
    onError(error, event) {
      event.res.status = 500
      return (error.cause as Error | undefined)?.message ?? error.message
    },
  })
  const limiter = forH3(limit as Loose, own)
  app.use((event, next) => (event.url.pathname === '/search' ? next() : limiter(event, next)))
  app.get('/users/:id', (event) => {
    record(event.context.rateLimit)
    return 'user'
  })
  const answer: EventHandler = async (event) => {
    record(event.context.rateLimit)
    const { pathname, search } = event.url
    const status = await handle(event.context.rateLimit, pathname + search)
    if (status === 101) return undefined
    event.res.status = status
    return 'ok'
  }
  app.get('/', answer)
  app.get('/search', answer, { middleware: searchOf<Middleware>(options, limiter, limiter) })
  return { app, recorded: { ...recorded, limiter: limiter.limiter } }
}

async function startH3(options: AppOptions): Promise<App> {
  const { app, recorded } = h3App(options)
  const { proxies } = options
  const trustProxy = proxies === 'everybody' ? true : proxies === undefined ? false : ['127.0.0.1']
  const server = serveH3(app, { ...srvxOptions, trustProxy })
  return { ...recorded, ...(await served(server)) }
}

async function startH3WithoutNode(options: AppOptions): Promise<App> {
  const { app, recorded } = h3App(options, proxyOptions(options.proxies))
  return { ...recorded, ...(await withoutNode(app.fetch as Handler)) }
}
