import fastifyPeer from '@fastify/rate-limit'
import express from 'express'
import expressPeer from 'express-rate-limit'
import fastify from 'fastify'
import expressCompat from 'headgate/compat/express-rate-limit'
import fastifyCompat from 'headgate/compat/fastify-rate-limit'
import koaCompat from 'headgate/compat/koa-ratelimit'
import { HeadgateThrottlerStorage } from 'headgate/compat/nest-throttler'
import { redisStore } from 'headgate/redis'
import Koa from 'koa'
import koaPeer from 'koa-ratelimit'
import { RedisStore as ExpressStore } from 'rate-limit-redis'
import { answers } from './message.mjs'

/*
 * Each module beside the package that it stands in for, as a user has them: a request through the whole middleware. They get a
 * client of Redis, or none to count in memory, and a limit for an hour. They return a function that makes one request from an
 * address and resolves to true if it was admitted. Of Nest, only the storage differs, so one hit of the storage is measured.
 */

const anHour = 3_600_000
const timeout = '30s'

const nestMemory = async () => new (await import('@nestjs/throttler')).ThrottlerStorageService()
const nestRedis = async (client) =>
  new (await import('@nest-lab/throttler-storage-redis')).ThrottlerStorageRedisService(client)

const expressApp = express()
function throughExpress(middleware) {
  const handle = (request, response) => {
    request.res = response
    response.locals = Object.create(null)
    middleware(request, response, (error) => (error ? response.destroy(error) : response.end()))
  }
  return answers(handle, { request: expressApp.request, response: expressApp.response })
}

const expressOn = (module, store) => (bare, limit) => {
  const options = { limit, windowMs: anHour, validate: false, standardHeaders: 'draft-8' }
  return throughExpress(module({ ...options, ...(bare && store(bare)) }))
}
const theirs = (bare) => ({ store: new ExpressStore({ sendCommand: (...command) => bare.send(command) }) })

const koaOn = (module) => (bare, limit) => {
  const app = new Koa()
  app.silent = true
  const driver = bare ? { driver: 'redis', db: bare.client } : { driver: 'memory', db: new Map() }
  app.use(module({ ...driver, max: limit, duration: anHour }))
  app.use((context) => {
    context.body = 'hello'
  })
  return answers(app.callback())
}

const fastifyOn = (module) => async (bare, limit) => {
  const app = fastify()
  await app.register(module, {
    max: limit,
    timeWindow: anHour,
    cache: 2 ** 17,
    ...(bare && { redis: bare.client, nameSpace: `limit-${limit}:` }),
  })
  app.get('/', (_request, reply) => reply.send('hello'))
  await app.ready()
  return answers((request, response) => app.routing(request, response))
}

const nestOn = (storage) => async (bare, limit) => {
  const throttler = await storage(bare)
  return async (key) => !(await throttler.increment(key, anHour, limit, anHour, 'default')).isBlocked
}
const nestCompat = (bare) =>
  new HeadgateThrottlerStorage(bare && { store: redisStore({ client: bare.client, timeout }) })

/** Original and modules, by framework. The first is the original. */
export const pairs = {
  Express: {
    'express-rate-limit': expressOn(expressPeer, theirs),
    'headgate/compat/express-rate-limit': expressOn(expressCompat, theirs),
  },
  Koa: { 'koa-ratelimit': koaOn(koaPeer), 'headgate/compat/koa-ratelimit': koaOn(koaCompat) },
  Fastify: {
    '@fastify/rate-limit': fastifyOn(fastifyPeer),
    'headgate/compat/fastify-rate-limit': fastifyOn(fastifyCompat),
  },
  'NestJS, one hit': {
    '@nestjs/throttler': nestOn((bare) => (bare ? nestRedis(bare.client) : nestMemory())),
    'headgate/compat/nest-throttler': nestOn(nestCompat),
  },
}

/** With a store of headgate in place of theirs. */
export const withStore = {
  'headgate/compat/express-rate-limit, redisStore': expressOn(expressCompat, ({ client }) => ({
    store: redisStore({ client, timeout }),
    name: 'bench',
  })),
}
