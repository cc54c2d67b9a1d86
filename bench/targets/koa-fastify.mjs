import fastifyPeer from '@fastify/rate-limit'
import fastify from 'fastify'
import fastifyCompat from 'headgate/compat/fastify-rate-limit'
import koaCompat from 'headgate/compat/koa-ratelimit'
import { rateLimit as fastifyLimit } from 'headgate/fastify'
import { rateLimit as koaLimit } from 'headgate/koa'
import Koa from 'koa'
import koaPeer from 'koa-ratelimit'
import { requests } from './message.mjs'

/*
 * Whole requests through an application of Koa or Fastify with one route, without sockets. `handle` is the function that
 * node:http would call. The same application without a limiter is the floor.
 */

const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const figures = ['1000000000', '999999999', '1800000000']
const anHour = 3_600_000

function koa(addresses, middleware) {
  const app = new Koa()
  app.silent = true
  if (middleware) app.use(middleware)
  app.use((context) => {
    context.body = 'hello'
  })
  return requests(addresses, app.callback())
}

async function fastifyApp(addresses, install = async (_app) => {}) {
  const app = fastify()
  await install(app)
  app.get('/', (_request, reply) => reply.send('hello'))
  await app.ready()
  return requests(addresses, (request, response) => app.routing(request, response))
}

function plugin(module, addresses, limit) {
  const options = { max: limit, timeWindow: anHour, cache: addresses.length }
  return fastifyApp(addresses, async (app) => void (await app.register(module, options)))
}

export const koaTargets = {
  'Koa alone': (addresses) => koa(addresses),
  'three headers by hand': (addresses) =>
    koa(addresses, async (context, next) => {
      for (let n = 0; n < 3; n++) context.res.setHeader(names[n], figures[n])
      await next()
    }),
  'headgate/koa': (addresses, limit) => koa(addresses, koaLimit({ limit, window: anHour })),
  'headgate/compat/koa-ratelimit': (addresses, limit) =>
    koa(addresses, koaCompat({ driver: 'memory', db: new Map(), max: limit, duration: anHour })),
  'koa-ratelimit': (addresses, limit) =>
    koa(addresses, koaPeer({ driver: 'memory', db: new Map(), max: limit, duration: anHour })),
}

export const fastifyTargets = {
  'Fastify alone': (addresses) => fastifyApp(addresses),
  'three headers by hand': (addresses) =>
    fastifyApp(addresses, async (app) => {
      app.addHook('onRequest', (_request, reply, next) => {
        for (let n = 0; n < 3; n++) reply.header(names[n], figures[n])
        next()
      })
    }),
  'headgate/fastify': (addresses, limit) =>
    fastifyApp(addresses, async (app) => void (await app.register(fastifyLimit({ limit, window: anHour })))),
  'headgate/compat/fastify-rate-limit': (addresses, limit) => plugin(fastifyCompat, addresses, limit),
  '@fastify/rate-limit': (addresses, limit) => plugin(fastifyPeer, addresses, limit),
}
