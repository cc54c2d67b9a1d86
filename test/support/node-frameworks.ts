import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import connect from 'connect'
import polka from 'polka'
import { type NodeRateLimit, rateLimit } from '../../adapters/node.ts'
import { type App, type AppOptions, type Loose, ok, recorder, type Start, searchOf, serve } from './served-app.ts'

/** Servers of node:http, as they are and behind small routers. */
export const nodeFrameworks: Record<string, Start> = {
  'node:http': startBare,
  Connect: startConnect,
  Polka: startPolka,
}

/** The setting of the adapters whose framework has none. */
export function proxyOptions(proxies: AppOptions['proxies']): object {
  return proxies === undefined ? {} : { trustedProxies: 1 }
}

type Routed = IncomingMessage & { route?: { path: string }; params?: Record<string, string> }

/** Finds the route, as a router does before its middleware runs. */
function find(request: Routed): void {
  const path = new URL(request.url ?? '/', 'http://a').pathname
  const [, id] = /^\/users\/(.+)/.exec(path) ?? []
  request.route = { path: id === undefined ? path : '/users/:id' }
  request.params = id === undefined ? {} : { id }
}

async function startBare(options: AppOptions): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
  const { record, recorded } = recorder()
  const limiter = rateLimit(limit as Loose, proxyOptions(proxies))
  const respond = async (request: Routed, response: ServerResponse) => {
    find(request)
    if (answerFirst) response.end('first')
    const limits = request.route?.path === '/search' ? searchOf<NodeRateLimit>(options, limiter, limiter) : [limiter]
    for (const each of limits) if (!(await each(request, response))) return
    record(request.rateLimit)
    if (!response.headersSent) response.statusCode = await handle(request.rateLimit, request.url ?? '/')
    response.end('ok')
  }
  const server = createServer((request, response) => {
    respond(request, response).catch((error: Error) => fail(response, error))
  })
  return { ...recorded, limiter: limiter.limiter, ...(await serve(server)) }
}

function fail(response: ServerResponse, error: Error): void {
  if (response.headersSent) return
  response.statusCode = 500
  response.end(error.message)
}

async function startConnect(options: AppOptions): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
  const { record, recorded } = recorder()
  const app = connect()
  const limiter = rateLimit(limit as Loose, proxyOptions(proxies))
  app.use((request: Routed, response, next) => {
    find(request)
    if (answerFirst) response.end('first')
    next()
  })
  const search = searchOf<connect.NextHandleFunction>(options, limiter, limiter as never)
  for (const each of search) app.use('/search', each)
  app.use((request: Routed, response: ServerResponse, next: connect.NextFunction) => {
    if (request.route?.path === '/search') next()
    else limiter(request, response, next)
  })
  app.use((request: Routed, response: ServerResponse, next: connect.NextFunction) => {
    void answer(request, response, record, handle).catch(next)
  })
  app.use((error: Error, _request: Routed, response: ServerResponse, _next: connect.NextFunction) => {
    fail(response, error)
  })
  return { ...recorded, limiter: limiter.limiter, ...(await serve(createServer(app))) }
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  record: ReturnType<typeof recorder>['record'],
  handle: NonNullable<AppOptions['handle']>,
): Promise<void> {
  record(request.rateLimit)
  const status = await handle(request.rateLimit, request.url ?? '/')
  if (response.headersSent) return
  response.statusCode = status
  response.end('ok')
}

async function startPolka(options: AppOptions): Promise<App> {
  const { limit, proxies, answerFirst, handle = ok } = options
  const { record, recorded } = recorder()
  const server = createServer()
  const app = polka({ server, onError: (error, _request, response) => fail(response, error as never) })
  const limiter: NodeRateLimit<never> = rateLimit(limit as Loose, proxyOptions(proxies)) as never
  if (answerFirst) {
    app.use((_request, response, next) => {
      response.end('first')
      next()
    })
  }
  // Polka tells no one the pattern of the route.
  const routed = (path: string) => (request: Routed, _response: unknown, next: () => void) => {
    request.route = { path }
    next()
  }
  for (const path of ['/', '/users/:id', '/search']) {
    app.get(
      path,
      routed(path) as never,
      ...(path === '/search' ? searchOf<never>(options, limiter, limiter as never) : [limiter as never]),
      ((request: IncomingMessage, response: ServerResponse) => {
        void answer(request, response, record, handle).catch((error: Error) => fail(response, error))
      }) as never,
    )
    app.head(
      path,
      routed(path) as never,
      limiter as never,
      ((_request: unknown, response: ServerResponse) => {
        response.end()
      }) as never,
    )
  }
  server.on('request', app.handler as never)
  return { ...recorded, limiter: limiter.limiter, ...(await serve(server)) }
}
