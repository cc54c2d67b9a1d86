/**
 * The pages of the error codes. `cause` says how it comes about, and `fix` what to do. `wrong` is a program that fails with the
 * code, and `right` is one that does not: test/site-programs.test.ts runs both. What the code means stands in src/common/errors.ts.
 *
 * @type {Record<string, { cause: string, fix: string, wrong: string, right: string }>}
 */
export const codes = {
  HEADGATE_LIMIT: {
    cause:
      'A limit is negative, has a fraction, or is not a number. A value of an environment variable is a text, and not a number.',
    fix: 'Pass a whole number of at least 0. Convert a text with `Number`.',
    wrong: `import { slidingWindow } from 'headgate'

slidingWindow({ limit: '100', window: '15m' })`,
    right: `import { slidingWindow } from 'headgate'

slidingWindow({ limit: Number('100'), window: '15m' })`,
  },
  HEADGATE_WINDOW: {
    cause:
      'A duration is shorter than 1 ms or longer than 366 days, has a fraction of a millisecond, or has an unknown unit. A month is ' +
      'not a unit, because it has no fixed length. Units are written in small letters.',
    fix:
      "Pass whole milliseconds, or a text with a unit in small letters: `'250ms'`, `'10s'`, `'15m'`, `'1h'`, `'1d'`, `'2w'`, `'1y'`. For a " +
      "month, write `'30d'`.",
    wrong: `import { policy } from 'headgate'

policy('100/0s')`,
    right: `import { policy } from 'headgate'

policy('100/15m')`,
  },
  HEADGATE_BURST: {
    cause: 'A burst is not a whole number of at least 1, or the algorithm has no burst.',
    fix: 'Pass the number of units that may come at the same moment. Windows have no burst, so use a token bucket.',
    wrong: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 10, window: '1s', burst: 0 })`,
    right: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 10, window: '1s', burst: 20 })`,
  },
  HEADGATE_SEGMENTS: {
    cause: 'The number of segments is not a whole number from 1 to 1000.',
    fix: 'Pass a number from 1 to 1000, or leave `segments` out, which means 10. With more segments, units come back sooner, but a key needs more memory.',
    wrong: `import { segmentedWindow } from 'headgate'

segmentedWindow({ limit: 10, window: '1s', segments: 0 })`,
    right: `import { segmentedWindow } from 'headgate'

segmentedWindow({ limit: 10, window: '1s', segments: 20 })`,
  },
  HEADGATE_NAME: {
    cause: 'A name is empty, longer than 128 characters, or has a character that a header must not contain.',
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
      'The product of the limit, the window and the burst is above 2^53, so the policy could not count exactly. Or `settle` charges ' +
      'so many units beyond the estimate that the policy could not count these units exactly.',
    fix: 'Choose a limit that shares a divisor with the window, a shorter window, or a smaller burst.',
    wrong: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 999983, window: '366d', burst: 999983 })`,
    right: `import { tokenBucket } from 'headgate'

tokenBucket({ limit: 1000000, window: '366d', burst: 100 })`,
  },
  HEADGATE_RATE: {
    cause: 'A rate is 0, negative or infinite, or so slow that it cannot be counted exactly.',
    fix: 'Pass a positive number. For a rate below one call a second, also pass `per`.',
    wrong: `import { smoothBursty } from 'headgate'

smoothBursty({ rate: 0 })`,
    right: `import { smoothBursty } from 'headgate'

smoothBursty({ rate: 5, per: '1h' })`,
  },
  HEADGATE_POLICY: {
    cause:
      'The text of a policy has an unknown form, or a store does not know an algorithm. `acquire` of a pacer also throws this error if the policy of the pacer is `concurrency`.',
    fix: 'Write the limit, a slash and the window. The algorithm and the burst may follow.',
    wrong: `import { policy } from 'headgate'

policy('100 per minute')`,
    right: `import { policy } from 'headgate'

policy('100/1m token-bucket burst 20')`,
  },
  HEADGATE_POLICY_FILE: {
    cause:
      'A policy file cannot be read, is no JSON, or has another form than policies by limiters. The same code is the error of `plan`, if the file has no such limiter or plan.',
    fix: 'The message of the error begins with the file, the line and the place. While an invalid new version stands in the file, the old policies stay in force.',
    wrong: `import { policiesFrom } from 'headgate/policy-file'

policiesFrom({ limits: { api: ['100/15m'] } })`,
    right: `import { policiesFrom } from 'headgate/policy-file'

policiesFrom({ limiters: { api: ['100/15m'] } })`,
  },
  HEADGATE_PENALTY: {
    cause:
      "A number of a penalty is out of range, such as `after: 0`, or the options exclude each other. With `count: 'failures'`, a penalty " +
      'for refusals would never begin.',
    fix:
      "The message of the error names the option and its range. For failures, write `on: 'spent'`: the ban begins when the quota is " +
      'spent.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', penalty: { after: 0, within: '1m', ban: '1h' } })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', penalty: { after: 5, within: '1m', ban: '1h' } })`,
  },
  HEADGATE_DUPLICATE_POLICY: {
    cause: 'Two policies of one limiter have the same name. A policy without a name is named after its window.',
    fix: 'Give the policies different names.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: ['10/1m', '5/1m burst 8'] })`,
    right: `import { policy, RateLimiter } from 'headgate'

new RateLimiter({ policies: ['10/1m', policy('5/1m burst 8', { name: 'burst' })] })`,
  },
  HEADGATE_CANDIDATE: {
    cause:
      'A candidate has a scope that no current policy has, counts units in flight, or asks calls for another calendar of the customer. Or ' +
      '`candidate` is an option of a middleware whose `policies` are a function.',
    fix:
      'Add such a policy to the current policies with `shadow: true`. If `policies` is a function, return `{ policies, candidate }` from the ' +
      'function.',
    wrong: `import { policy, RateLimiter } from 'headgate'

new RateLimiter({ policies: '100/1m', candidate: policy('10/1m', { scope: 'user' }) })`,
    right: `import { policy, RateLimiter } from 'headgate'

new RateLimiter({ policies: '100/1m', candidate: '80/1m' })
new RateLimiter({ policies: ['100/1m', policy('10/1m', { name: 'user', scope: 'user', shadow: true })] })`,
  },
  HEADGATE_DUPLICATE_LIMITER: {
    cause:
      'Two limiters with the same name use one store. These limiters would count their requests together by accident.',
    fix: 'Give the limiters different names. To use other limits on the same counts, use `limiter.withPlan(policies)`.',
    wrong: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore()
const one = new RateLimiter({ name: 'api', policies: '10/1m', store })
const two = new RateLimiter({ name: 'api', policies: '5/1m sliding-log', store })`,
    right: `import { memoryStore, RateLimiter } from 'headgate'

const store = memoryStore()
const one = new RateLimiter({ name: 'api', policies: '10/1m', store })
const two = new RateLimiter({ name: 'login', policies: '5/1m sliding-log', store })`,
  },
  HEADGATE_OPTION: {
    cause: 'The name of an option is wrong, the function has no such option, or the value of the option is invalid.',
    fix: 'The message of the error says which names or values are valid.',
    wrong: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', onStoreErrors: 'closed' })`,
    right: `import { RateLimiter } from 'headgate'

new RateLimiter({ policies: '10/1m', onStoreError: 'closed' })`,
  },
  HEADGATE_COST: {
    cause: 'A cost is negative, has a fraction, or names a policy that the limiter does not have.',
    fix: 'Pass a whole number, or a record with a whole number for each policy.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).consume('ann', { cost: 1.5 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).consume('ann', { cost: Math.ceil(1.5) })`,
  },
  HEADGATE_KEY: {
    cause:
      'The key is undefined or not a text, such as the id of a user who has not signed in. Or the policies have several scopes, and the key of one scope is missing.',
    fix: 'Pass a text. Choose a key that all unknown callers share, such as `anonymous`.',
    wrong: `import { RateLimiter } from 'headgate'

const user = { id: undefined }
await new RateLimiter({ policies: '10/1m' }).consume(user.id)`,
    right: `import { RateLimiter } from 'headgate'

const user = { id: undefined }
await new RateLimiter({ policies: '10/1m' }).consume(user.id ?? 'anonymous')`,
  },
  HEADGATE_BAN: {
    cause:
      'The duration of `ban` is below 1 ms or above 366 days and not Infinity, or the reason is longer than 200 characters. Or the limiter has 100,000 banned keys in a memory store.',
    fix: 'Pass a duration with a unit, or Infinity for a ban that lasts until `unban`. For more banned keys, use Redis or Postgres.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).ban('ann', '10y')`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).ban('ann', Infinity, { reason: 'asked to stay away' })`,
  },
  HEADGATE_OVERRIDE: {
    cause:
      'An override has none or several of `limit`, `add`, `policies` and `scale`, or one of its numbers or its `until` is invalid. Or ' +
      'another override gives numbers for the same keys and the same policy. Or the limiter has too many overrides.',
    fix: 'The message says which. Remove an override with `removeOverride(id)` before you write another one for the same keys.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).override('ann', { limit: 20, scale: 2 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m' }).override('ann', { limit: 20, until: '2h' })`,
  },
  HEADGATE_MAX_WAIT: {
    cause: 'The `maxWait` of `reserve` is negative, too long, or not a duration.',
    fix: 'Pass milliseconds, or a text with a unit.',
    wrong: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m burst 1' }).reserve('ann', { maxWait: -1 })`,
    right: `import { RateLimiter } from 'headgate'

await new RateLimiter({ policies: '10/1m burst 1' }).reserve('ann', { maxWait: '2s' })`,
  },
  HEADGATE_RESERVATIONS: {
    cause:
      "A key has 100 open reservations that were made with `onExpiry: 'give-back'`. Each of them needs space in the state of the key until " +
      'it is settled, until it expires, or until the window ends. The call has changed nothing.',
    fix:
      'Settle or cancel each reservation as soon as its work ends. For work with many parts, make one reservation for all parts. Or let ' +
      'reservations expire sooner.',
    wrong: `import { RateLimiter } from 'headgate'
import { quota } from 'headgate/calendar'

const limiter = new RateLimiter({ policies: quota('10000/month') })
for (let n = 0; n < 200; n++) await limiter.reserve('ann', { expires: '1h', onExpiry: 'give-back' })`,
    right: `import { RateLimiter } from 'headgate'
import { quota } from 'headgate/calendar'

const limiter = new RateLimiter({ policies: quota('10000/month') })
for (let n = 0; n < 200; n++) {
  const reservation = await limiter.reserve('ann', { expires: '1h', onExpiry: 'give-back' })
  await reservation.settle(1)
}`,
  },
  HEADGATE_HEADERS_SENT: {
    cause: 'The middleware refused a request, but a handler before the middleware had already begun the response.',
    fix: 'Put the middleware before every handler that sends a response.',
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
      "The proxy of Next.js (`proxy.ts`, formerly `middleware.ts`) gives `apply` a `NextResponse.next()` or `NextResponse.rewrite()`. After that, headgate cannot see the status or the end of the request. So `count` and a limit such as `'4 at once'` could not work.",
    fix: 'Wrap the route handler with this limit. A limit that counts every request, such as `100/15m`, works in the proxy.',
    wrong: `import { rateLimit } from 'headgate/fetch'

const limit = rateLimit({ policies: '5/15m sliding-log', count: 'failures' }, { address: () => '203.0.113.7' })
const result = await limit(new Request('https://example.com/login'))
// As NextResponse.next() makes it.
result.apply(new Response(null, { headers: { 'x-middleware-next': '1' } }))`,
    right: `import { rateLimit } from 'headgate/fetch'

const limit = rateLimit({ policies: '5/15m sliding-log', count: 'failures' }, { address: () => '203.0.113.7' })
// In app/login/route.ts.
export const POST = limit.wrap(async (request) => new Response(null, { status: 401 }))
await POST(new Request('https://example.com/login', { method: 'POST' }))`,
  },
  HEADGATE_THROWN: {
    cause:
      'A function that you passed to a middleware threw a value that is not an Error, such as a text. The `cause` of this error is that value.',
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
      'A function that you passed to a middleware, such as a function that looks up a plan, took longer than `functionTimeout`.',
    fix: 'Let the function return a default after a timeout, or raise `functionTimeout`.',
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
  HEADGATE_CALENDAR: {
    cause:
      'A time zone is misspelled, or the runtime does not know it. Names of the IANA time zone database work on every runtime. Offsets ' +
      'such as `+02:00` work on Node 22 and later. Or another part of a calendar rule, such as its anchor, is missing or invalid. Or a ' +
      "policy has `anchor: 'caller'` or `timeZone: 'caller'`, and the call or the middleware has no `calendar` that says it; or " +
      '`calendar` says what no policy asks for.',
    fix:
      'Pass a name of the IANA database, such as `Europe/Berlin` or `UTC`. The message of the error names the part that is wrong. ' +
      "`Intl.supportedValuesOf('timeZone')` lists the names.",
    wrong: `import { calendarWindow } from 'headgate/calendar'

calendarWindow({ limit: 10000, every: 'month', timeZone: 'Europe/Berln' })`,
    right: `import { calendarWindow } from 'headgate/calendar'

calendarWindow({ limit: 10000, every: 'month', timeZone: 'Europe/Berlin' })`,
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
      'A package that is used with headgate is too old: a framework, a client or a library of sockets. npm installs headgate beside any version, so the error appears at the first call that needs the package.',
    fix: 'Update the package that the message names. The [policy of support](../support.md#versions) lists the lowest version of each package.',
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
      'The counts of a key could need more bytes than the store allows, such as a log of many requests in Memcached.',
    fix: 'Use another algorithm, such as `segmentedWindow`, a lower limit, or another store.',
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
      "The store did not answer within its timeout. The store may be overloaded, far away or not running. With `onStoreError: 'closed'`, this error is the `cause` of `HEADGATE_STORE_UNAVAILABLE`.",
    fix: 'Check the store and the network. Raise `storeTimeout` only if your requests can wait that long.',
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
      "The store failed. The `cause` of this error is the error of the client. With `onStoreError: 'closed'`, this error is the `cause` of `HEADGATE_STORE_UNAVAILABLE`.",
    fix: 'Read the `cause`. Until the store works again, `onStoreError` decides about requests.',
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
      'This version of headgate cannot read the value of this key in the store, because another program or another version has written the value. Or a trigger, a rule ' +
      'or a person has changed the row in Postgres. Other keys are not affected.',
    fix: 'Use a `prefix` that no other program uses, and a table without triggers and rules. `limiter.reset(key)` deletes the value.',
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
    cause:
      'The store does not have the method that you called, such as `clear` on a store that cannot list its keys. Or the call has a list of costs, and the store ' +
      'cannot try the costs in one step: `hitStore`, a store without the trait `alternatives`, or `redisStore` if the keys of the call are in several hash slots of a Cluster.',
    fix:
      'Instead of `clear`, call `reset` for each key, or give the limiter another name. For a list of costs in a Redis Cluster, put all keys of the store in one slot: ' +
      "`redisStore({ client, prefix: '{quota}' })`. For a list on another store, make a call for each cost.",
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
      "The store failed, and `onStoreError` is `'closed'`. The `cause` of this error is the store's error, and `retryAfter` says when to try again.",
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
    cause:
      'The queue of the pacer is full: `maxQueue` calls are waiting, because calls come faster than the rate allows.',
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
    cause:
      'A call could not start within its `timeout`. If the pacer knows this when the call comes, the call fails without waiting.',
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
    fix: 'Raise `runTimeout`. Pass the signal that the function gets to its requests, so that the requests end too.',
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
    cause: 'A call was made after `close` of the pacer, or was waiting when `close` was called.',
    fix: 'Call `close` only when no more calls will be made.',
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
