/* A ban or an override by an operator, in another process, holds for the limits of the replaced packages too. */
import { createServer } from 'node:http'
import express from 'express'
import fastify from 'fastify'
import { Hono } from 'hono'
import Koa from 'koa'
import Database from 'libsql'
import { expect, test } from 'vitest'
import { rateLimit as expressRateLimit } from '../../adapters/compat/express-rate-limit.ts'
import fastifyRateLimit from '../../adapters/compat/fastify-rate-limit.ts'
import { rateLimiter } from '../../adapters/compat/hono-rate-limiter.ts'
import { ratelimit } from '../../adapters/compat/koa-ratelimit.ts'
import { RateLimiter, type Store } from '../../src/index.ts'
import { sqliteStore } from '../../src/stores/sqlite/index.ts'
import { get } from '../support/frameworks.ts'
import { serve } from '../support/served-app.ts'

const keyOf = () => 'evil'
type Ask = () => Promise<{ status: number; headers: Record<string, unknown> }>

/** For each package: a limit of 3, and the name of its limiter in the store. */
const packages: Record<string, [name: string, start: (store: Store, more?: object) => Promise<Ask>]> = {
  'express-rate-limit': [
    'api',
    async (store, more) => {
      const app = express()
      app.use(expressRateLimit({ limit: 3, windowMs: 60_000, name: 'api', store, keyGenerator: keyOf, ...more }))
      app.get('/', (_request, response) => void response.send('ok'))
      const { url } = await serve(createServer(app))
      return () => get(url)
    },
  ],
  '@fastify/rate-limit': [
    'api',
    async (store) => {
      const app = fastify()
      await app.register(fastifyRateLimit, { max: 3, timeWindow: 60_000, nameSpace: 'api', store, keyGenerator: keyOf })
      app.get('/', async () => 'ok')
      return async () => {
        const { statusCode, headers } = await app.inject('/')
        return { status: statusCode, headers }
      }
    },
  ],
  'hono-rate-limiter': [
    'api',
    async (store, more) => {
      const app = new Hono()
      app.use(rateLimiter({ limit: 3, windowMs: 60_000, name: 'api', store, keyGenerator: keyOf, ...more }))
      app.get('/', (c) => c.text('ok'))
      return async () => {
        const { status, headers } = await app.request('/')
        return { status, headers: Object.fromEntries(headers) }
      }
    },
  ],
  'koa-ratelimit': [
    'limit:60000',
    async (store) => {
      const app = new Koa()
      app.use(ratelimit({ max: 3, duration: 60_000, store, id: keyOf }))
      app.use((context) => {
        context.body = 'ok'
      })
      const { url } = await serve(createServer(app.callback()))
      return () => get(url)
    },
  ],
}

async function start(what: string, more?: object) {
  const [name, open] = packages[what] as (typeof packages)[string]
  const database = new Database(':memory:')
  const ask = await open(sqliteStore({ database }), more)
  const operator = new RateLimiter({ name, policies: '1/1m', store: sqliteStore({ database }) })
  return { ask, operator }
}

test.each(Object.keys(packages))('%s: a banned key is refused until the ban ends', async (what) => {
  const { ask, operator } = await start(what)
  expect((await ask()).status).toBe(200)
  await operator.ban('evil', '1h')
  for (let n = 0; n < 5; n++) {
    const { status, headers } = await ask()
    expect(status).toBe(429)
    expect(Number(headers['retry-after'])).toBeGreaterThan(3500)
  }
  await operator.unban('evil')
  expect([(await ask()).status, (await ask()).status, (await ask()).status]).toEqual([200, 200, 429])
})

test.each(Object.keys(packages))('%s: an override with policies limits, also for less than the limit', async (what) => {
  const { ask, operator } = await start(what)
  await operator.override('*', { policies: '1/1h' })
  await expect.poll(async () => (await ask()).status, { timeout: 3000, interval: 500 }).toBe(429)
  for (let n = 0; n < 5; n++) expect((await ask()).status).toBe(429)
})

test.each(Object.keys(packages))('%s: an override with policies admits more than the limit', async (what) => {
  const { ask, operator } = await start(what)
  for (let n = 0; n < 3; n++) expect((await ask()).status).toBe(200)
  expect((await ask()).status).toBe(429)
  await operator.override('*', { policies: '8/1h' })
  await expect.poll(async () => (await ask()).status, { timeout: 3000, interval: 500 }).toBe(200)
  for (let n = 0; n < 7; n++) expect((await ask()).status).toBe(200)
  expect((await ask()).status).toBe(429)
})

test.each(['express-rate-limit', 'hono-rate-limiter'])(
  '%s: a request that a ban refuses takes no hit back with skipFailedRequests',
  async (what) => {
    const { ask, operator } = await start(what, { skipFailedRequests: true })
    for (let n = 0; n < 3; n++) expect((await ask()).status).toBe(200)
    await operator.ban('evil', '1h')
    for (let n = 0; n < 3; n++) expect((await ask()).status).toBe(429)
    await operator.unban('evil')
    expect((await ask()).status).toBe(429)
  },
)
