/**
 * The pages of the warnings about mistakes. `meaning` says what the warning tells, `cause` how it comes about, and `fix` what to
 * do. `wrong` is a program that gives the warning, and `right` is one that gives none: test/site-programs.test.ts runs both.
 *
 * @type {Record<string, { meaning: string, cause: string, fix: string, wrong: string, right: string }>}
 */
export const warnings = {
  HEADGATE_SECONDS: {
    meaning: 'A duration was written as a number that looks like seconds. Numbers are milliseconds.',
    cause:
      'Other packages use seconds. These numbers cause the warning: a window, a lease, a ban or `maxHold` below 1000; half hours and days in seconds, such ' +
      'as 1800, 3600 and 86400; `functionTimeout`, `maxWait` of messages, `max` of `delay`, `hold`, and `runTimeout` of `pacedFetch` below 100; `storeTimeout`, and `timeout` of a store, below 20.',
    fix: 'Write a text with a unit, such as `1h`. A text never causes this warning.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: { limit: 100, window: 3600 } })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: { limit: 100, window: '1h' } })`,
  },
  HEADGATE_FORWARDED: {
    meaning:
      'A request has a field that proxies write, and its address is used by the limit, `allow` or `deny`, but no proxy is trusted. Or `byHeader` reads such a field.',
    cause:
      'Either a proxy is in front of the application, and all its clients share one limit and the lists `allow` and `deny` see only the address of the proxy, or a client has forged the field. The fields are `X-Forwarded-For`, `X-Real-IP`, ' +
      '`Forwarded`, `CF-Connecting-IP`, `Fly-Client-IP`, `X-Vercel-Forwarded-For` and `X-Nf-Client-Connection-Ip`. `X-Forwarded-For` is looked for ' +
      'in each request, and the others in the first 1000 requests. If the field contains the address by which the request is limited, there is no warning. ' +
      'With `byHeader`, a client that writes the field gets a new quota with each text.',
    fix: 'Say which proxy is in front, as [the page on addresses](../addresses.md) describes. If there is no proxy, write `byIp({ warn: false })`.',
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit('10/1m'))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/').set('X-Real-IP', '203.0.113.7')`,
    right: `import express from 'express'
import { byIp } from 'headgate'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit({ policies: '10/1m', keys: byIp({ platform: 'nginx' }) }))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/').set('X-Real-IP', '203.0.113.7')`,
  },
  HEADGATE_NO_STORE: {
    meaning:
      'The option `store` is undefined, so the limiter uses a memory store, and this process does not share its counts.',
    cause: 'Your code makes the store from a setting, such as an environment variable, and the setting is missing.',
    fix: 'Do not start the application if the setting is missing. If you want a memory store, leave `store` out, or write `memoryStore()`.',
    wrong: `import { RateLimiter } from 'headgate'

const stores = {}
new RateLimiter({ name: 'api', policies: '10/1m', store: stores[process.env.STORE] })`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const stores = {}
new RateLimiter({ name: 'api', policies: '10/1m', store: stores[process.env.STORE] ?? memoryStore() })`,
  },
  HEADGATE_UNNAMED: {
    meaning: 'Two limiters without a name have the same policies on one memory store, and do not share their counts.',
    cause: 'Each limiter without a name has its own counts, even if several limiters use one `memoryStore`.',
    fix: 'To share the counts, make one limiter and pass the limiter to both middlewares. Otherwise, give each limiter a name.',
    wrong: `import { memoryStore } from 'headgate'
import { rateLimit } from 'headgate/express'

const store = memoryStore()
const login = rateLimit({ policies: '5/1m sliding-log', store })
const reset = rateLimit({ policies: '5/1m sliding-log', store })`,
    right: `import { RateLimiter } from 'headgate'
import { rateLimit } from 'headgate/express'

const limiter = new RateLimiter({ policies: '5/1m sliding-log' })
const login = rateLimit(limiter)
const reset = rateLimit(limiter)`,
  },
  HEADGATE_PER_REQUEST: {
    meaning:
      'A hundred limiters with the same name were made, and each of these limiters was called with one key only.',
    cause:
      'Your code makes a limiter in each request. Each limiter counts from 0, so no request is ever refused. Limiters that are made ' +
      'when the application starts cause no warning.',
    fix: 'Make the limiter once, outside of the handler. If you need many limiters, give each limiter another name.',
    wrong: `import { RateLimiter } from 'headgate'

const handle = (user) => new RateLimiter({ policies: '5/1m sliding-log' }).consume(user)
for (let n = 0; n < 100; n++) await handle('ann')`,
    right: `import { RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '5/1m sliding-log' })
const handle = (user) => limiter.consume(user)
for (let n = 0; n < 100; n++) await handle('ann')`,
  },
  HEADGATE_NEW_PLANS: {
    meaning:
      '`withPlan` was called a hundred times with new policy objects, or with objects that may change, that are equal to the policies of an earlier call.',
    cause:
      '`withPlan`, and a middleware whose `policies` are a function, find the limiter of a plan fast if the policy objects are the same. If the objects are new, headgate has to ' +
      'compare their contents, which takes a hundred times as long. It does the same with an object that no constructor made, such as ' +
      "`{ limit: 5, window: '1m' }`, because it may have changed.",
    fix: 'Make the policies of each plan once, by their constructors, and pass the same objects each time. A policy that is written as text is fast too.',
    wrong: `import { policy, RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '10/1m' })
const planOf = () => [policy('100/1m'), policy('1000/1h')]
for (let n = 0; n <= 100; n++) await limiter.withPlan(planOf()).consume('ann')`,
    right: `import { policy, RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '10/1m' })
const pro = [policy('100/1m'), policy('1000/1h')]
const planOf = () => pro
for (let n = 0; n <= 100; n++) await limiter.withPlan(planOf()).consume('ann')`,
  },
  HEADGATE_UNGUARDED: {
    meaning:
      '`RateLimitModule` of NestJS has a limit, but `RateLimitGuard` runs before no handler without a decorator.',
    cause:
      'No module provides `RateLimitGuard` as `APP_GUARD`. Nest runs a guard that is only in `providers` before no handler. `@RateLimit` and ' +
      '`@RateLimitCost` add the guard to their own handlers only.',
    fix: 'Provide `RateLimitGuard` as `APP_GUARD`. If you want to limit only handlers with `@RateLimit`, write `RateLimitModule.forRoot({ limit: false })`.',
    wrong: `import { Controller, Get, Module } from '@nestjs/common'
import { NestFactory } from '@nestjs/core'
import { RateLimitModule } from 'headgate/nest'

class Shop {
  front() {
    return 'hello'
  }
}
Controller()(Shop)
Get()(Shop.prototype, 'front', Object.getOwnPropertyDescriptor(Shop.prototype, 'front'))

class AppModule {}
Module({ imports: [RateLimitModule.forRoot('100/15m')], controllers: [Shop] })(AppModule)
await NestFactory.createApplicationContext(AppModule, { logger: false })`,
    right: `import { Controller, Get, Module } from '@nestjs/common'
import { APP_GUARD, NestFactory } from '@nestjs/core'
import { RateLimitGuard, RateLimitModule } from 'headgate/nest'

class Shop {
  front() {
    return 'hello'
  }
}
Controller()(Shop)
Get()(Shop.prototype, 'front', Object.getOwnPropertyDescriptor(Shop.prototype, 'front'))

class AppModule {}
Module({
  imports: [RateLimitModule.forRoot('100/15m')],
  controllers: [Shop],
  providers: [{ provide: APP_GUARD, useClass: RateLimitGuard }],
})(AppModule)
await NestFactory.createApplicationContext(AppModule, { logger: false })`,
  },
  HEADGATE_ROUTE_STORE: {
    meaning:
      'A route of Fastify has its own policies and no store, and the limit around the route has a store for several processes.',
    cause:
      'A route with its own policies does not inherit the store. Each process then counts the requests of the route apart, so a fleet of N processes admits N times the limit.',
    fix: 'Write `name` and `store` at the route. If each process shall count apart, write `store: memoryStore()`.',
    wrong: `import fastify from 'fastify'
import { rateLimit } from 'headgate/fastify'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

const client = new Redis({ lazyConnect: true }).on('error', console.error)
const store = redisStore({ client })
const app = fastify()
await app.register(rateLimit({ name: 'api', policies: '100/15m', store }))
app.post('/login', { config: { rateLimit: '5/1m sliding-log' } }, async () => 'hello')
await app.ready()`,
    right: `import fastify from 'fastify'
import { rateLimit } from 'headgate/fastify'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

const client = new Redis({ lazyConnect: true }).on('error', console.error)
const store = redisStore({ client })
const app = fastify()
await app.register(rateLimit({ name: 'api', policies: '100/15m', store }))
const login = { policies: '5/1m sliding-log', name: 'login', store }
app.post('/login', { config: { rateLimit: login } }, async () => 'hello')
await app.ready()`,
  },
}
