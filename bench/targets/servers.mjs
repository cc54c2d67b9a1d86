import { createServer } from 'node:http'
import fastifyPeer from '@fastify/rate-limit'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import expressPeer from 'express-rate-limit'
import fastify from 'fastify'
import { rateLimit as expressLimit } from 'headgate/express'
import { rateLimit as fastifyLimit } from 'headgate/fastify'
import { rateLimit as koaLimit } from 'headgate/koa'
import Koa from 'koa'
import koaPeer from 'koa-ratelimit'
import { headgate, honoApp, honoRateLimiter } from './hono.mjs'

/*
 * The same application, one route that says hello, on four frameworks: alone, with three headers by hand, and behind each
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
}
