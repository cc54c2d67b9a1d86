import { createServer, request as send } from 'node:http'
import { createAdaptorServer } from '@hono/node-server'
import Router from '@koa/router'
import express5, { Router as Router5 } from 'express'
import express4 from 'express4'
import fastify from 'fastify'
import { H3 } from 'h3'
import { Hono } from 'hono'
import Koa from 'koa'
import polka from 'polka'
import { toNodeHandler } from 'srvx/node'
import { afterEach, describe, expect, test } from 'vitest'
import { rateLimit as forExpress } from '../../adapters/express.ts'
import { rateLimit as forFastify } from '../../adapters/fastify/index.ts'
import { rateLimit as forFetch } from '../../adapters/fetch.ts'
import { rateLimit as forH3 } from '../../adapters/h3.ts'
import { rateLimit as forHono } from '../../adapters/hono.ts'
import { rateLimit as forKoa } from '../../adapters/koa.ts'
import { rateLimit as forNode } from '../../adapters/node.ts'
import { byIp, byRoute, combine } from '../../src/index.ts'
import { type App, serve } from '../support/served-app.ts'

/*
 * What `byRoute` promises: one quota for each route that the application declares. No client makes a new quota by its
 * method, by its path or by the text of a mount path.
 */

const running: Pick<App, 'close'>[] = []

afterEach(async () => {
  await Promise.all(running.splice(0).map((app) => app.close()))
})

type Listener = Parameters<typeof createServer>[1]

async function listen(listener: Listener | ReturnType<typeof createServer>): Promise<string> {
  const app = await serve(typeof listener === 'function' ? createServer(listener) : (listener as never))
  running.push(app)
  return app.url
}

function status(url: string, method: string): Promise<number> {
  return new Promise((resolve, reject) => {
    const request = send(url, { method, agent: false }, (response) => {
      response.resume().on('end', () => resolve(response.statusCode ?? 0))
    })
    request.on('error', reject).end()
  })
}

/** The statuses of requests such as `GET /a`, one after the other. */
async function statuses(url: string, ...requests: string[]): Promise<number[]> {
  const all: number[] = []
  for (const each of requests) {
    const [method, path] = each.split(' ') as [string, string]
    all.push(await status(url + path, method))
  }
  return all
}

const keys = combine(byIp(), byRoute())
const hourly = (limit: number) => ({ limit, window: '1h', keys })
const address = () => '192.0.2.1'

function koaOk(context: Koa.Context): void {
  context.body = 'ok'
}

interface Routes {
  /** The limit is before all routes. */
  readonly before: boolean
}

/**
 * An app with a limit of 2 an hour by address and route on `* /all/:x`, and on `GET /own/:x` and `POST /own/:x`; or with
 * this limit before these routes.
 */
const apps: Record<string, (routes: Routes) => Promise<string>> = {
  'Express 4': (routes) => express(express4 as never, routes),
  'Express 5': (routes) => express(express5, routes),
  Koa({ before }) {
    const app = new Koa()
    const router = new Router()
    const limit = forKoa(hourly(2))
    const own = before ? [] : [limit]
    if (before) app.use(limit)
    router.all('/all/:x', ...own, koaOk)
    router.get('/own/:x', ...own, koaOk).post('/own/:x', ...own, koaOk)
    app.use(router.routes())
    return listen(app.callback())
  },
  async Fastify({ before }) {
    const app = fastify()
    const { hook } = forFastify(hourly(2))
    const own = before ? {} : { preHandler: hook }
    const ok = async () => 'ok'
    if (before) app.addHook('onRequest', hook)
    app.all('/all/:x', own, ok)
    app.get('/own/:x', own, ok)
    app.post('/own/:x', own, ok)
    running.push(app)
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
  Polka({ before }) {
    const server = createServer()
    const app = polka({ server })
    const limit = forNode(hourly(2)) as never
    // Polka tells no one the pattern of the route, so the application does.
    const on = (path: string, method?: string) => (request: object, _response: unknown, next: () => void) => {
      Object.assign(request, { route: { path, method } })
      next()
    }
    const own = before ? [] : [limit]
    const ok = (_request: unknown, response: { end(text: string): void }) => response.end('ok')
    if (before) app.use(limit)
    app.all('/all/:x', ...([on('/all/:x'), ...own, ok] as never[]))
    for (const method of ['get', 'head', 'post'] as const) {
      const declared = method === 'post' ? 'POST' : 'GET'
      app[method]('/own/:x', ...([on('/own/:x', declared), ...own, ok] as never[]))
    }
    server.on('request', app.handler as never)
    return listen(server)
  },
  Hono({ before }) {
    const app = new Hono()
    const limit = forHono(hourly(2), { address }) as never
    if (before) app.use(limit)
    const own = before ? [] : [limit]
    const ok = (context: { text(text: string): Response }) => context.text('ok')
    app.all('/all/:x', ...([...own, ok] as [never]))
    app.get('/own/:x', ...([...own, ok] as [never]))
    app.post('/own/:x', ...([...own, ok] as [never]))
    return listen(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as never)
  },
  h3({ before }) {
    const app = new H3({ silent: true })
    const limit = forH3(hourly(2), { address })
    const options = before ? {} : { middleware: [limit] }
    if (before) app.use(limit)
    app.all('/all/:x', () => 'ok', options)
    app.get('/own/:x', () => 'ok', options)
    app.head('/own/:x', () => 'ok', options)
    app.post('/own/:x', () => 'ok', options)
    return listen(toNodeHandler(app.fetch as never) as never)
  },
}

function express(make: typeof express5, { before }: Routes): Promise<string> {
  const app = make()
  const limit = forExpress(hourly(2))
  const own = before ? [] : [limit]
  const ok = (_request: unknown, response: express5.Response) => void response.send('ok')
  if (before) app.use(limit)
  app.all('/all/:x', ...own, ok)
  app.get('/own/:x', ...own, ok)
  app.post('/own/:x', ...own, ok)
  return listen(app)
}

const everyMethod = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS', 'HEAD']

/** Frameworks that know the route before their first middleware runs. */
const routesFirst = ['Fastify', 'h3', 'Hono']

describe.each(Object.entries(apps))('%s', (name, start) => {
  test('a route for all methods has one quota, whatever the method', async () => {
    const url = await start({ before: false })
    const got = await statuses(url, ...everyMethod.map((method, n) => `${method} /all/${n}`))
    expect(got).toEqual([200, 200, 429, 429, 429, 429, 429])
  })

  test('a route for one method has a quota of its own, and HEAD shares that of GET', async () => {
    const url = await start({ before: false })
    const got = await statuses(
      url,
      'GET /own/1',
      'HEAD /own/2',
      'GET /own/3',
      'HEAD /own/4',
      'POST /own/1',
      'POST /own/2',
    )
    expect(got).toEqual([200, 200, 429, 429, 200, 200])
    expect(await statuses(url, 'POST /own/3', 'GET /all/1')).toEqual([429, 200])
  })

  test('before the routes, no method and no path that matches no route makes a new quota', async () => {
    const url = await start({ before: true })
    const got = await statuses(url, ...everyMethod.map((method, n) => `${method} /nowhere/${n}`))
    expect(got).toEqual([404, 404, 429, 429, 429, 429, 429])
    const routed = routesFirst.includes(name) ? 200 : 429
    expect(await statuses(url, 'GET /all/1', 'POST /own/1')).toEqual([routed, routed])
  })
})

test('Fastify: a route for several methods has one quota, and its HEAD route shares it', async () => {
  for (const registered of [false, true]) {
    const app = fastify()
    const limit = forFastify(hourly(2))
    if (registered) await app.register(limit)
    const own = registered ? {} : { preHandler: limit.hook }
    app.route({ method: ['POST', 'GET', 'PUT'], url: '/list/:x', ...own, handler: async () => 'ok' })
    running.push(app)
    const url = await app.listen({ host: '127.0.0.1', port: 0 })
    const got = await statuses(url, 'PUT /list/1', 'HEAD /list/2', 'GET /list/3', 'POST /list/4', 'HEAD /list/5')
    expect(got, String(registered)).toEqual([200, 200, 429, 429, 429])
  }
})

test('Koa: a route for several methods has one quota', async () => {
  const app = new Koa()
  const router = new Router()
  router.register('/list', ['get', 'post'], [forKoa(hourly(2)), koaOk])
  const url = await listen(app.use(router.routes()).callback())
  expect(await statuses(url, 'POST /list', 'GET /list', 'HEAD /list', 'POST /list')).toEqual([200, 200, 429, 429])
})

test('fetch: a pattern has one quota, unless `route` says the method too', async () => {
  for (const withMethod of [false, true]) {
    const limited = forFetch(hourly(1), {
      address,
      route: ({ method }) => (withMethod ? `${method === 'POST' ? 'POST' : 'other'} /x` : '/x'),
    }).wrap(() => new Response('ok'))
    const server = createAdaptorServer({ fetch: limited as never, overrideGlobalObjects: false })
    const url = await listen(server as never)
    const got = await statuses(url, 'GET /x', 'POST /x', 'PUT /x')
    expect(got).toEqual(withMethod ? [200, 200, 429] : [200, 429, 429])
  }
})

describe.each([
  ['Express 4', express4 as unknown as typeof express5, express4.Router as unknown as typeof Router5],
  ['Express 5', express5, Router5],
])('%s', (_name, express, Router) => {
  const ok = (_request: unknown, response: express5.Response) => void response.send('ok')
  const limited = (limit = 1) => Router().post('/login', forExpress(hourly(limit)), ok)

  test('each static mount path has its own quota, in whatever letter case a client writes it', async () => {
    const app = express()
    const login = limited()
    app.use('/admin', login)
    app.use('/shop.x', login)
    app.use(login)
    const inner = Router().use('/v1', login)
    app.use('/api', inner)
    const url = await listen(app)
    for (const mount of ['/admin', '/shop.x', '', '/api/v1']) {
      const paths = [mount, mount.toUpperCase(), `${mount}/`].map((each) => `POST ${each}/login`.replace('//', '/'))
      expect(await statuses(url, ...paths), mount).toEqual([200, 429, 429])
    }
  })

  test('mount paths that may have parameters share one quota, which is that of no static path', async () => {
    const app = express()
    const login = limited()
    app.use('/t/:id', login)
    app.use(/^\/r\d+/, login)
    app.use(['/one', '/two'], login)
    app.use('/admin', login)
    const url = await listen(app)
    expect(await statuses(url, 'POST /t/1/login', 'POST /t/2/login', 'POST /T/1/login')).toEqual([200, 429, 429])
    expect(await statuses(url, 'POST /r1/login', 'POST /r22/login', 'POST /one/login')).toEqual([429, 429, 429])
    // A parameter that reads as a static mount path makes no key of that path.
    app.use('/:any', login)
    expect(await statuses(url, 'POST /admin/login', 'POST /x/login', 'POST /admin/login')).toEqual([200, 429, 429])
  })

  test('an application that is mounted in another one', async () => {
    const app = express()
    const inner = express()
    inner.use('/v1', limited())
    app.use('/inner', inner)
    const url = await listen(app)
    expect(await statuses(url, 'POST /inner/v1/login', 'POST /INNER/v1/login', 'POST /inner/V1/login')).toEqual([
      200, 429, 429,
    ])
  })

  test('a route that is made in parts: each method that the application declares has its own quota', async () => {
    const app = express()
    const limit = forExpress(hourly(1))
    app.route('/parts').get(limit, ok).post(limit, ok)
    app.route('/every').all(limit).get(ok)
    const url = await listen(app)
    expect(await statuses(url, 'GET /parts', 'POST /parts', 'HEAD /parts', 'POST /parts')).toEqual([200, 200, 429, 429])
    expect(await statuses(url, 'GET /every', 'HEAD /every', 'PUT /every', 'PATCH /every', 'LOCK /every')).toEqual([
      200, 429, 404, 429, 429,
    ])
  })
})

test('the package router without an application of Express: mounted routes share one quota', async () => {
  const outer = Router5()
  const inner = Router5().post('/login', forExpress(hourly(1)), (_request, response) => void response.end('ok'))
  outer.use('/admin', inner).use('/shop', inner)
  const url = await listen((request, response) =>
    outer(request as never, response as never, () => response.end('none')),
  )
  expect(await statuses(url, 'POST /admin/login', 'POST /shop/login')).toEqual([200, 429])
})

/** The same `POST /login` below `/admin`, `/shop` and `/t/:id`, with one limit of 1 an hour for all three. */
const nested: Record<string, () => Promise<string>> = {
  Koa() {
    const app = new Koa()
    const limit = forKoa(hourly(1))
    for (const prefix of ['/admin', '/shop', '/t/:id']) {
      const login = new Router().post('/login', limit, koaOk)
      app.use(new Router().use(prefix, login.routes()).routes())
    }
    return listen(app.callback())
  },
  async Fastify() {
    const app = fastify()
    const { hook } = forFastify(hourly(1))
    for (const prefix of ['/admin', '/shop', '/t/:id']) {
      app.register(async (inner) => void inner.post('/login', { preHandler: hook }, async () => 'ok'), { prefix })
    }
    running.push(app)
    return app.listen({ host: '127.0.0.1', port: 0 })
  },
  Hono() {
    const app = new Hono()
    const limit = forHono(hourly(1), { address }) as never
    for (const prefix of ['/admin', '/shop', '/t/:id']) {
      app.route(
        prefix,
        new Hono().post('/login', limit, (context) => context.text('ok')),
      )
    }
    return listen(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as never)
  },
  h3() {
    const app = new H3({ silent: true })
    const middleware = [forH3(hourly(1), { address })]
    for (const prefix of ['/admin', '/shop'])
      app.mount(
        prefix,
        new H3().post('/login', () => 'ok', { middleware }),
      )
    app.post('/t/:id/login', () => 'ok', { middleware })
    return listen(toNodeHandler(app.fetch as never) as never)
  },
}

test('Hono: a route that is declared by `on` for several methods has a quota for each of them, and none for others', async () => {
  const app = new Hono()
  app.on(['POST', 'PUT'], '/multi', forHono(hourly(1), { address }) as never, (context) => context.text('ok'))
  const url = await listen(createAdaptorServer({ fetch: app.fetch, overrideGlobalObjects: false }) as never)
  const asked = ['POST', 'PUT', 'POST', 'PUT', 'PATCH'].map((method) => `${method} /multi`)
  expect(await statuses(url, ...asked)).toEqual([200, 200, 429, 429, 404])
})

test.each(Object.entries(nested))('%s: a route below several paths has a quota for each pattern', async (_, start) => {
  const url = await start()
  const paths = ['/admin/login', '/shop/login', '/t/1/login', '/t/2/login', '/admin/login', '/shop/login']
  expect(await statuses(url, ...paths.map((path) => `POST ${path}`))).toEqual([200, 200, 200, 429, 429, 429])
  const others = ['OPTIONS', 'HEAD', 'GET', 'PUT'].map((method) => `${method} /admin/login`)
  expect((await statuses(url, ...others)).includes(429)).toBe(false) // no route, so nothing is counted
  expect(await statuses(url, 'POST /ADMIN/login', 'POST /admin/login?x=1', 'POST /admin/login')).not.toContain(200)
})
