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
      'Other packages count in seconds. These numbers give the warning: a window, a lease or a ban below 1000; half hours and days in seconds, such ' +
      'as 1800, 3600 and 86400; `functionTimeout`, `maxWait` of messages and `max` of `delay` below 100; `storeTimeout`, and `timeout` of a store, below 20.',
    fix: 'Write a text with a unit. It never gives the warning.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: { limit: 100, window: 3600 } })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: { limit: 100, window: '1h' } })`,
  },
  HEADGATE_FORWARDED: {
    meaning: 'A request has a field that proxies write, and is limited by its address, but no proxy is trusted.',
    cause:
      'Either a proxy is in front, and all its clients share one limit, or a client forges the field. The fields are `X-Forwarded-For`, `X-Real-IP`, ' +
      '`Forwarded`, `CF-Connecting-IP`, `Fly-Client-IP`, `X-Vercel-Forwarded-For` and `X-Nf-Client-Connection-Ip`. `X-Forwarded-For` is looked for ' +
      'in each request, and the others in the first 1000 requests. A field that has the very address that the limit goes by gives no warning.',
    fix: 'Name the proxy, as [the page on addresses](../addresses.md) says. If there is no proxy, write `byIp({ warn: false })`.',
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
    meaning: 'The option `store` was given as undefined, so this process counts alone, in its memory.',
    cause: 'The store is made from a setting, such as an environment variable, and the setting is missing.',
    fix: 'Stop the start if the setting is missing. If memory is meant, leave `store` out, or write `memoryStore()`.',
    wrong: `import { RateLimiter } from 'headgate'

const stores = {}
new RateLimiter({ name: 'api', policies: '10/1m', store: stores[process.env.STORE] })`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const stores = {}
new RateLimiter({ name: 'api', policies: '10/1m', store: stores[process.env.STORE] ?? memoryStore() })`,
  },
  HEADGATE_UNNAMED: {
    meaning: 'Two limiters without a name have the same policies on one store in memory, and count apart.',
    cause: 'Each limiter without a name has states of its own, even if several of them have one `memoryStore`.',
    fix: 'To count together, make one limiter and pass it to both middlewares. To count apart, give each a name.',
    wrong: `import { memoryStore } from 'headgate'
import { rateLimit } from 'headgate/express'

const store = memoryStore()
const login = rateLimit({ policies: '5/1m', store })
const reset = rateLimit({ policies: '5/1m', store })`,
    right: `import { RateLimiter } from 'headgate'
import { rateLimit } from 'headgate/express'

const limiter = new RateLimiter({ policies: '5/1m' })
const login = rateLimit(limiter)
const reset = rateLimit(limiter)`,
  },
  HEADGATE_PER_REQUEST: {
    meaning: 'A hundred limiters of one name were made one after the other, and each was asked for one key.',
    cause:
      'A limiter that is made in each request limits nobody: each has states of its own, and starts with nothing counted. Limiters that are made ' +
      'at the start, one for each route, give no warning, and neither do limiters that are asked for several keys.',
    fix: 'Make the limiter once, outside of the handler. If each of them is meant, give each a name of its own.',
    wrong: `import { RateLimiter } from 'headgate'

const handle = (user) => new RateLimiter({ policies: '5/1m' }).consume(user)
for (let n = 0; n < 100; n++) await handle('ann')`,
    right: `import { RateLimiter } from 'headgate'

const limiter = new RateLimiter({ policies: '5/1m' })
const handle = (user) => limiter.consume(user)
for (let n = 0; n < 100; n++) await handle('ann')`,
  },
  HEADGATE_NEW_PLANS: {
    meaning: 'Plans were given as new objects a hundred times, though a limiter for the same policies was known.',
    cause:
      '`withPlan`, and a middleware whose `policies` are a function, find the limiter of a plan by the identity of its objects. A new object has to ' +
      'be written as text at each call, which takes a hundred times as long.',
    fix: 'Make the policies of each plan once, by their constructors, and pass the same objects each time. A text is found fast too.',
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
}
