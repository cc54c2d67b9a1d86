import { createServer } from 'node:http'
import fastifyPeer from '@fastify/rate-limit'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import expressPeer from 'express-rate-limit'
import fastify from 'fastify'
import { H3, toNodeHandler } from 'h3'
import { rateLimit as expressLimit } from 'headgate/express'
import { rateLimit as fastifyLimit } from 'headgate/fastify'
import { rateLimit as fetchLimit } from 'headgate/fetch'
import { rateLimit as h3Limit } from 'headgate/h3'
import { rateLimit as koaLimit } from 'headgate/koa'
import { rateLimit as nodeLimit } from 'headgate/node'
import Koa from 'koa'
import koaPeer from 'koa-ratelimit'
import { headgate, honoApp, honoRateLimiter } from './hono.mjs'

/*
 * The same application, one route that says hello, on each framework: alone, with three headers by hand, and behind each
 * limiter. Every target returns a server that does not listen yet.
 */

const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const figures = ['1000000000', '999999999', '1800000000']
/** What a refusal adds. */
const refusal = { 'Retry-After': '3600', 'Cache-Control': 'no-store', 'Content-Type': 'text/plain; charset=utf-8' }
const refusalText = 'Too many requests. Try again in 3600 seconds.\n'
const windowMs = 3_600_000

/** Sets the three headers by hand, and those of a refusal. */
function setAll(set, more = {}) {
  for (let n = 0; n < 3; n++) set(names[n], figures[n])
  for (const name in more) set(name, more[name])
}

function onExpress(middleware) {
  const app = express()
  if (middleware) app.use(middleware)
  app.get('/', (_request, response) => void response.send('hello'))
  return createServer(app)
}

function onKoa(middleware) {
  const app = new Koa()
  app.silent = true // else it prints an error for each connection that the load leaves open at its end
  if (middleware) app.use(middleware)
  app.use((context) => {
    context.body = 'hello'
  })
  return createServer(app.callback())
}

async function onFastify(install = async (_app) => {}) {
  const app = fastify()
  await install(app)
  app.get('/', (_request, reply) => reply.send('hello'))
  await app.ready()
  return app.server
}

function onHono(middleware) {
  return createServer(getRequestListener(honoApp(middleware).fetch))
}

function onH3(middleware) {
  const app = new H3()
  if (middleware) app.use(middleware)
  app.get('/', () => 'hello')
  return createServer(toNodeHandler(app))
}

/** A fetch handler on the web server of Hono, which passes the request of Node as the second argument. */
function onFetch(around = (handler) => handler) {
  return createServer(getRequestListener(around(() => new Response('hello'))))
}

function hello(_request, response) {
  response.setHeader('Content-Type', 'text/plain; charset=utf-8')
  response.end('hello')
}

/** Only a process for Nest loads it: loading it takes a second. */
async function onNest(target, limit) {
  const { nestTargets } = await import('./nest.mjs')
  return nestTargets[target](limit)
}

export const servers = {
  Express: {
    alone: () => onExpress(),
    'three headers by hand': () =>
      onExpress((_request, response, next) => {
        setAll((name, value) => response.setHeader(name, value))
        next()
      }),
    'refused by hand': () =>
      onExpress((_request, response) => {
        response.statusCode = 429
        setAll((name, value) => response.setHeader(name, value), refusal)
        response.end(refusalText)
      }),
    'headgate/express': (limit) => onExpress(expressLimit({ limit, window: windowMs })),
    'express-rate-limit': (limit) =>
      onExpress(expressPeer({ limit, windowMs, legacyHeaders: true, standardHeaders: false, validate: false })),
  },
  Koa: {
    alone: () => onKoa(),
    'three headers by hand': () =>
      onKoa(async (context, next) => {
        setAll((name, value) => context.res.setHeader(name, value))
        await next()
      }),
    'refused by hand': () =>
      onKoa(async (context) => {
        context.status = 429
        setAll((name, value) => context.res.setHeader(name, value), refusal)
        context.body = refusalText
      }),
    'headgate/koa': (limit) => onKoa(koaLimit({ limit, window: windowMs })),
    'koa-ratelimit': (limit) => onKoa(koaPeer({ driver: 'memory', db: new Map(), max: limit, duration: windowMs })),
  },
  Fastify: {
    alone: () => onFastify(),
    'three headers by hand': () =>
      onFastify(async (app) => {
        app.addHook('onRequest', (_request, reply, next) => {
          setAll((name, value) => reply.header(name, value))
          next()
        })
      }),
    'refused by hand': () =>
      onFastify(async (app) => {
        app.addHook('onRequest', (_request, reply) => {
          setAll((name, value) => reply.header(name, value), refusal)
          reply.code(429).send(refusalText)
        })
      }),
    'headgate/fastify': (limit) =>
      onFastify(async (app) => void (await app.register(fastifyLimit({ limit, window: windowMs })))),
    '@fastify/rate-limit': (limit) =>
      onFastify(async (app) => void (await app.register(fastifyPeer, { max: limit, timeWindow: windowMs }))),
  },
  Hono: {
    alone: () => onHono(),
    'three headers by hand': () =>
      onHono(async (context, next) => {
        setAll((name, value) => context.header(name, value))
        await next()
      }),
    'refused by hand': () =>
      onHono(async (context) => {
        setAll((name, value) => context.header(name, value), refusal)
        return context.body(refusalText, 429)
      }),
    'headgate/hono': (limit) => onHono(headgate(limit, windowMs)),
    'hono-rate-limiter': (limit) => onHono(honoRateLimiter(limit, windowMs)),
  },
  H3: {
    alone: () => onH3(),
    'headgate/h3': (limit) => onH3(h3Limit({ limit, window: windowMs })),
  },
  fetch: {
    alone: () => onFetch(),
    'headgate/fetch': (limit) => {
      const address = (_request, { incoming }) => incoming.socket.remoteAddress
      const { wrap } = fetchLimit({ limit, window: windowMs }, { address })
      return onFetch((handler) => wrap(handler))
    },
  },
  'node:http': {
    alone: () => createServer(hello),
    'headgate/node': (limit) => {
      const limited = nodeLimit({ limit, window: windowMs })
      return createServer((request, response) => void limited(request, response, () => hello(request, response)))
    },
  },
  NestJS: {
    alone: () => onNest('alone'),
    'headgate/nest': (limit) => onNest('headgate/nest', limit),
    'headgate/compat/nest-throttler': (limit) => onNest('headgate/compat/nest-throttler', limit),
    '@nestjs/throttler': (limit) => onNest('@nestjs/throttler', limit),
  },
}
