/**
 * The pages of the error codes. `cause` says how it comes about, and `fix` what to do. `wrong` is a program that fails with the
 * code, and `right` is one that does not: test/site-programs.test.ts runs both. What the code means stands in src/common/errors.ts.
 *
 * @type {Record<string, { cause: string, fix: string, wrong: string, right: string }>}
 */
export const codes = {
  HEADGATE_LIMIT: {
    cause:
      'A limit is negative, has a fraction, or is no number. Often it comes from the environment, where every value is a text.',
    fix: 'Give a whole number from 0. Convert a text with `Number`.',
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ limit: '100', window: '15m' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ limit: Number('100'), window: '15m' })`,
  },
  HEADGATE_WINDOW: {
    cause:
      'A duration is not understood, is shorter than 1 ms or longer than 366 days, or has a fraction of a millisecond. Its unit may ' +
      'be a month, which has no fixed length, or have a capital letter.',
    fix:
      "Give whole milliseconds, or a text with a unit in small letters: `'250ms'`, `'10s'`, `'15m'`, `'1h'`, `'1d'`, `'2w'`, `'1y'`. For a " +
      "month, write `'30d'`.",
    wrong: `import { policy } from 'headgate'

policy('100/0s')`,
    right: `import { policy } from 'headgate'

policy('100/15m')`,
  },
  HEADGATE_BURST: {
    cause: 'A burst is not a whole number of at least 1, or the algorithm has none.',
    fix: 'Give the number of units that may come at once. Windows have no burst: use a token bucket.',
    wrong: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 10, window: '1s', burst: 0 })`,
    right: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 10, window: '1s', burst: 20 })`,
  },
  HEADGATE_SEGMENTS: {
    cause: 'The number of segments is not a whole number from 1 to 1000.',
    fix: 'Leave it out for 10, or give a number in that range. More segments return units sooner and take more memory.',
    wrong: `import { segmentedWindow } from 'headgate'

segmentedWindow({ limit: 10, window: '1s', segments: 0 })`,
    right: `import { segmentedWindow } from 'headgate'

segmentedWindow({ limit: 10, window: '1s', segments: 20 })`,
  },
  HEADGATE_NAME: {
    cause: 'A name is empty, longer than 128 characters, or has a character that a header cannot carry.',
    fix: 'Use printable ASCII characters.',
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ name: 'täglich', limit: 10, window: '1d' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ name: 'daily', limit: 10, window: '1d' })`,
  },
  HEADGATE_SCOPE: {
    cause: 'A scope is empty, longer than 128 characters, or has a character that is not printable ASCII.',
    fix: 'Use a short name, such as `user` or `address`.',
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ scope: '', limit: 10, window: '1d' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ scope: 'user', limit: 10, window: '1d' })`,
  },
  HEADGATE_INEXACT: {
    cause:
      'The product of the limit, the window and the burst passes 2^53, so whole numbers could not count it. Or `settle` charges ' +
      'so many units beyond the estimate that a policy could not count them exactly.',
    fix: 'Choose a limit that shares a divisor with the window, a shorter window, or a smaller burst.',
    wrong: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 999983, window: '366d', burst: 999983 })`,
    right: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 1000000, window: '366d', burst: 100 })`,
  },
  HEADGATE_RATE: {
    cause: 'A rate is 0, negative or infinite, or so slow that it cannot be counted exactly.',
    fix: 'Give a positive number, and `per` for a rate below one a second.',
    wrong: `import { smoothBursty } from 'headgate'

smoothBursty({ rate: 0 })`,
    right: `import { smoothBursty } from 'headgate'

smoothBursty({ rate: 5, per: '1h' })`,
  },
  HEADGATE_POLICY: {
    cause:
      'The text of a policy has an unknown form, or a store does not know an algorithm. A pacer throws it from `acquire` if its policy counts units in flight.',
    fix: 'Write limit/window, then the algorithm and the burst if you need them.',
    wrong: `import { policy } from 'headgate'

policy('100 per minute')`,
    right: `import { policy } from 'headgate'

policy('100/1m token-bucket burst 20')`,
  },
  HEADGATE_PENALTY: {
    cause: 'A number of a penalty is out of range, such as no refusals at all.',
    fix: 'The message names the option and its range.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', penalty: { after: 0, within: '1m', ban: '1h' } })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', penalty: { after: 5, within: '1m', ban: '1h' } })`,
  },
  HEADGATE_DUPLICATE_POLICY: {
    cause: 'Two policies of one limiter have the same name. A policy without a name is named after its window.',
    fix: 'Name them apart.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: ['10/1m', '5/1m burst 8'] })`,
    right: `import { policy, RateLimiter } from 'headgate'

new RateLimiter({ policies: ['10/1m', policy('5/1m burst 8', { name: 'burst' })] })`,
  },
  HEADGATE_DUPLICATE_LIMITER: {
    cause: 'Two limiters with the same name use one store. They would share their states by accident.',
    fix: 'Name them apart. For other limits on the same states use `limiter.withPlan(policies)`.',
    wrong: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore()
const one = new RateLimiter({ name: 'api', policies: '10/1m', store })
const two = new RateLimiter({ name: 'api', policies: '5/1m', store })`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore()
const one = new RateLimiter({ name: 'api', policies: '10/1m', store })
const two = new RateLimiter({ name: 'login', policies: '5/1m', store })`,
  },
  HEADGATE_OPTION: {
    cause: 'An option is spelt wrongly, does not exist there, or has a value of a wrong kind.',
    fix: 'The message lists what the option may be.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', onStoreErrors: 'closed' })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', onStoreError: 'closed' })`,
  },
  HEADGATE_COST: {
    cause: 'A cost is negative, has a fraction, or names a policy that the limiter does not have.',
    fix: 'Give a whole number, or a record with one for each policy.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).consume('ann', { cost: 1.5 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).consume('ann', { cost: Math.ceil(1.5) })`,
  },
  HEADGATE_KEY: {
    cause:
      'The key is undefined or no text, such as the id of a user who has not signed in. With several scopes, one of them has no key.',
    fix: 'Decide what unknown callers share, and give a text.',
    wrong: `import { RateLimiter } from 'headgate'

const user = { id: undefined }
await new RateLimiter({ policies: '10/1m' }).consume(user.id)`,
    right: `import { RateLimiter } from 'headgate'

const user = { id: undefined }
await new RateLimiter({ policies: '10/1m' }).consume(user.id ?? 'anonymous')`,
  },
  HEADGATE_BAN: {
    cause:
      'The duration of `ban` is not from 1 ms to 366 days, nor Infinity, or its reason is longer than 200 characters. Or a store in memory has 100,000 banned keys already.',
    fix: 'Give a duration with its unit, or Infinity until `unban`. For more bans, use Redis or Postgres.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).ban('ann', '10y')`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).ban('ann', Infinity, { reason: 'asked to stay away' })`,
  },
  HEADGATE_MAX_WAIT: {
    cause: 'The `maxWait` of `reserve` is negative, too long, or not understood.',
    fix: 'Give milliseconds, or a text with a unit.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m burst 1' }).reserve('ann', { maxWait: -1 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m burst 1' }).reserve('ann', { maxWait: '2s' })`,
  },
  HEADGATE_HEADERS_SENT: {
    cause: 'The middleware refused a request whose response had begun. A handler before it has answered already.',
    fix: 'Put the limiter before everything that answers.',
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

let seen
const app = express()
app.use((_request, response, next) => {
  response.write('early')
  next()
})
app.use(rateLimit('0/1m'))
app.use((error, _request, response, _next) => {
  seen = error
  response.end()
})
await request(app).get('/')
throw seen`,
    right: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit('10/1m'))
app.use((_request, response) => void response.end('late'))
await request(app).get('/')`,
  },
  HEADGATE_NO_END: {
    cause:
      "The proxy of Next.js (`proxy.ts`, formerly `middleware.ts`) gives `apply` a `NextResponse.next()` or `NextResponse.rewrite()`. The request goes on after that, and nobody sees its status or its end. So `count` could count nothing, and a limit such as `'4 at once'` would limit nothing.",
    fix: 'Wrap the route handler with that limit. A limit that counts every request, such as `100/15m`, may stay in the proxy.',
    wrong: `import { rateLimit } from 'headgate/fetch'

const limit = rateLimit({ policies: '5/15m', count: 'failures' }, { address: () => '203.0.113.7' })
const result = await limit(new Request('https://example.com/login'))
// As NextResponse.next() makes it.
result.apply(new Response(null, { headers: { 'x-middleware-next': '1' } }))`,
    right: `import { rateLimit } from 'headgate/fetch'

const limit = rateLimit({ policies: '5/15m', count: 'failures' }, { address: () => '203.0.113.7' })
// In app/login/route.ts.
export const POST = limit.wrap(async (request) => new Response(null, { status: 401 }))
await POST(new Request('https://example.com/login', { method: 'POST' }))`,
  },
  HEADGATE_THROWN: {
    cause:
      'A function that you gave to a middleware threw something that is no Error, such as a text. `cause` is what it threw.',
    fix: 'Throw an Error.',
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

let seen
const app = express()
app.use(rateLimit({ policies: '10/1m', keys: () => { throw 'no key' } }))
app.use((error, _request, response, _next) => {
  seen = error
  response.end()
})
await request(app).get('/')
throw seen`,
    right: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit({ policies: '10/1m', keys: (request) => request.get('host') }))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/')`,
  },
  HEADGATE_FUNCTION_TIMEOUT: {
    cause:
      'A function that you gave to a middleware, such as one that looks up a plan, took longer than `functionTimeout`.',
    fix: 'Give the look-up a timeout and a default of its own, or raise `functionTimeout`.',
    wrong: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

let seen
const app = express()
app.use(rateLimit({ policies: '10/1m', keys: () => new Promise(() => {}), functionTimeout: '20ms' }))
app.use((error, _request, response, _next) => {
  seen = error
  response.end()
})
await request(app).get('/')
throw seen`,
    right: `import express from 'express'
import { rateLimit } from 'headgate/express'
import request from 'supertest'

const app = express()
app.use(rateLimit({ policies: '10/1m', keys: async (request) => request.get('host'), functionTimeout: '1s' }))
app.use((_request, response) => void response.end('hello'))
await request(app).get('/')`,
  },
  HEADGATE_CLOCK: {
    cause: 'A clock returned a fraction, a negative number, or milliseconds where microseconds are expected.',
    fix: 'Return whole microseconds since the epoch.',
    wrong: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore({ clock: () => 0.5 })
new RateLimiter({ policies: '10/1m', store }).consumeSync('ann')`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore({ clock: () => Date.now() * 1000 })
new RateLimiter({ policies: '10/1m', store }).consumeSync('ann')`,
  },
  HEADGATE_ASYNC_STORE: {
    cause: '`consumeSync` was called, and the store returns promises.',
    fix: 'Use `await limiter.consume(key)`.',
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
new RateLimiter({ name: 'api', policies: '10/1m', store }).consumeSync('ann')`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store }).consume('ann')`,
  },
  HEADGATE_VERSION: {
    cause:
      'A package that is used with headgate is too old: a framework, a client or a library of sockets. headgate can be installed beside any version, so this shows when it is used.',
    fix: 'Update the package that the message names. The [policy of support](../support.md#versions) lists the lowest version of each.',
    wrong: `import { RateLimiter } from 'headgate'
import { redisStore } from 'headgate/redis'

// A client of node-redis 3, whose methods take callbacks.
const client = { evalsha() {}, eval() {}, on() {}, internal_send_command() {} }
new RateLimiter({ name: 'api', policies: '10/1m', store: redisStore({ client }) })`,
    right: `import { RateLimiter } from 'headgate'
import { redisStore } from 'headgate/redis'
import { createClient } from 'redis'

const client = createClient()
client.on('error', console.error)
new RateLimiter({ name: 'api', policies: '10/1m', store: redisStore({ client }) })`,
  },
  HEADGATE_STATE_SIZE: {
    cause:
      'The states of a key could need more bytes than the store can hold, such as a log of many requests in Memcached.',
    fix: 'Take an algorithm of fixed size, a smaller limit, or another store.',
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true, maxBytes: 1000 })
new RateLimiter({ name: 'api', policies: '10000/1h sliding-log', store })`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true, maxBytes: 1000 })
new RateLimiter({ name: 'api', policies: '10000/1h', store })`,
  },
  HEADGATE_STORE_TIMEOUT: {
    cause:
      'The store did not answer within its timeout. It may be overloaded, far away or gone. It is the `cause` of `HEADGATE_STORE_UNAVAILABLE`.',
    fix: 'Look at the store and the way to it. Raise `storeTimeout` only if your requests can wait that long.',
    wrong: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('hang')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'closed', storeTimeout: '20ms' })
await limiter.consume('ann').catch(({ cause }) => {
  throw cause
})`,
    right: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('hang')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'local', storeTimeout: '20ms' })
await limiter.consume('ann') // decided in this process`,
  },
  HEADGATE_STORE: {
    cause:
      'The store failed. `cause` is the error of its client. It is itself the `cause` of `HEADGATE_STORE_UNAVAILABLE`.',
    fix: 'Read the error of the client. Until the store works again, `onStoreError` decides.',
    wrong: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'closed' })
await limiter.consume('ann').catch(({ cause }) => {
  throw cause
})`,
    right: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'open' })
await limiter.consume('ann') // let through, not counted`,
  },
  HEADGATE_STORE_RECORD: {
    cause:
      'What the store has under this key is not a record that this version reads: other code wrote it, or another version, perhaps with an algorithm that this one does not know. Or Postgres has written ' +
      'something else there than the decision: a trigger or a rule changes the table, or the row was changed by hand. Other keys go on.',
    fix: 'Give headgate a `prefix` of its own, and a table without triggers and rules. `limiter.reset(key)` deletes what is there.',
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => ({ text: 'hello', version: 1 }), swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store, onStoreError: 'throw' }).consume('ann')`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => ({ text: 'hello', version: 1 }), swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store, onStoreError: 'throw' }).reset('ann')`,
  },
  HEADGATE_UNSUPPORTED: {
    cause: 'The store cannot do what was asked, such as `clear` on a store that cannot list its keys.',
    fix: 'Reset single keys, or give the limiter another name.',
    wrong: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store }).clear()`,
    right: `import { RateLimiter } from 'headgate'
import { compareAndSetStore } from 'headgate/store'

const store = compareAndSetStore({ read: async () => undefined, swap: async () => true })
await new RateLimiter({ name: 'api', policies: '10/1m', store }).reset('ann')`,
  },
  HEADGATE_STORE_UNAVAILABLE: {
    cause:
      "The store failed, and `onStoreError` is `'closed'`. `cause` is the store's error, and `retryAfter` says when to try again.",
    fix: 'Answer with status 503, as the middleware does, or choose another `onStoreError`.',
    wrong: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'closed' })
await limiter.consume('ann')`,
    right: `import { memoryStore, RateLimiter } from 'headgate'
import { faultyStore } from 'headgate/testing'

const store = faultyStore(memoryStore())
store.fail('error')
const limiter = new RateLimiter({ policies: '10/1m', store, onStoreError: 'local' })
await limiter.consume('ann') // decided in this process`,
  },
  HEADGATE_QUEUE_FULL: {
    cause: 'As many calls wait as the pacer allows (`maxQueue`). Calls come faster than they may go.',
    fix: 'Refuse the work early, allow a longer queue, or raise the rate.',
    wrong: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1, maxBurst: 0 }), { maxQueue: 1 })
await pacer.acquire()
pacer.acquire().catch(() => {})
await pacer.acquire()`,
    right: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1000 }), { maxQueue: 10 })
await pacer.acquire()
await pacer.acquire()`,
  },
  HEADGATE_TIMEOUT: {
    cause: 'A call cannot go, or did not go, within its `timeout`. If that is known at once, it fails at once.',
    fix: 'Allow more time, or use `tryAcquire`, which returns false instead.',
    wrong: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1, per: '1h' }))
await pacer.acquire()
await pacer.acquire(1, { timeout: 10 })`,
    right: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 1, per: '1h' }))
await pacer.acquire()
await pacer.tryAcquire(1, { timeout: 10 }) // false`,
  },
  HEADGATE_RUN_TIMEOUT: {
    cause: 'A function of `throttle` or `wrap` ran for longer than its `runTimeout`.',
    fix: 'Allow more time. Pass the signal that the function gets to its requests, so that they end too.',
    wrong: `import { Pacer } from 'headgate/pacer'
import { setTimeout as sleep } from 'node:timers/promises'

const pacer = new Pacer('10/1s')
await pacer.throttle((signal) => sleep(60_000, undefined, { signal }), { runTimeout: 10 })`,
    right: `import { Pacer } from 'headgate/pacer'
import { setTimeout as sleep } from 'node:timers/promises'

const pacer = new Pacer('10/1s')
await pacer.throttle((signal) => sleep(1, undefined, { signal }), { runTimeout: '1m' })`,
  },
  HEADGATE_CLOSED: {
    cause: 'A call came to a pacer after `close`, or still waited when it was closed.',
    fix: 'Close a pacer last, when nothing calls it any more.',
    wrong: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 10 }))
pacer.close()
await pacer.acquire()`,
    right: `import { smoothBursty } from 'headgate'
import { Pacer } from 'headgate/pacer'

const pacer = new Pacer(smoothBursty({ rate: 10 }))
await pacer.acquire()
pacer.close()`,
  },
}
