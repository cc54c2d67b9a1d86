import { createServer } from 'node:http'
import fastifyPeer from '@fastify/rate-limit'
import { getRequestListener } from '@hono/node-server'
import express from 'express'
import expressPeer from 'express-rate-limit'
import fastify from 'fastify'
import Koa from 'koa'
import koaPeer from 'koa-ratelimit'
import { rateLimit as expressLimit } from '../../dist/adapters/express.js'
import { rateLimit as fastifyLimit } from '../../dist/adapters/fastify.js'
import { rateLimit as koaLimit } from '../../dist/adapters/koa.js'
import { headgate, honoApp, honoRateLimiter } from './hono.mjs'

/*
 * The same application, one route that says hello, on four frameworks: alone, with three headers by hand, and behind each
 * limiter. Every target gives a server that does not listen yet.
 */

const names = ['X-RateLimit-Limit', 'X-RateLimit-Remaining', 'X-RateLimit-Reset']
const figures = ['1000000000', '999999999', '1800000000']
const windowMs = 3_600_000

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
        for (let n = 0; n < 3; n++) response.setHeader(names[n], figures[n])
        next()
      }),
    'headgate/express': (limit) => onExpress(expressLimit({ limit, window: windowMs })),
    'express-rate-limit': (limit) =>
      onExpress(expressPeer({ limit, windowMs, legacyHeaders: true, standardHeaders: false, validate: false })),
  },
  Koa: {
    alone: () => onKoa(),
    'three headers by hand': () =>
      onKoa(async (context, next) => {
        for (let n = 0; n < 3; n++) context.res.setHeader(names[n], figures[n])
        await next()
      }),
    'headgate/koa': (limit) => onKoa(koaLimit({ limit, window: windowMs })),
    'koa-ratelimit': (limit) => onKoa(koaPeer({ driver: 'memory', db: new Map(), max: limit, duration: windowMs })),
  },
  Fastify: {
    alone: () => onFastify(),
    'three headers by hand': () =>
      onFastify(async (app) => {
        app.addHook('onRequest', (_request, reply, next) => {
          for (let n = 0; n < 3; n++) reply.header(names[n], figures[n])
          next()
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
        for (let n = 0; n < 3; n++) context.header(names[n], figures[n])
        await next()
      }),
    'headgate/hono': (limit) => onHono(headgate(limit, windowMs)),
    'hono-rate-limiter': (limit) => onHono(honoRateLimiter(limit, windowMs)),
  },
}
