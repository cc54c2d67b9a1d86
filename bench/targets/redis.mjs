import { createRequire } from 'node:module'
import { fixedWindow, RateLimiter, slidingLog, slidingWindow, tokenBucket } from 'headgate'
import { redisStore } from 'headgate/redis'
import { RedisStore as HonoStore } from 'hono-rate-limiter'
import { RedisStore as ExpressStore } from 'rate-limit-redis'
import { RateLimiterRedis } from 'rate-limiter-flexible'

/*
 * Limiters on Redis. Each gets a client and a limit for an hour, and returns a function that makes one call for a key and
 * resolves to true if the call was admitted.
 */

const load = createRequire(import.meta.url)
const FastifyStore = load('@fastify/rate-limit/store/RedisStore')
const KoaLimiter = load('koa-ratelimit/limiter/redis')

const windowMs = 3_600_000

function headgate(policies, options = {}) {
  return ({ client }, limit) => {
    // No call here takes too long. A busy machine may be slow.
    const store = redisStore({ client, timeout: '30s', ...options })
    const limiter = new RateLimiter({ name: 'bench', policies: policies(limit), store })
    return async (key) => (await limiter.consume(key)).allowed
  }
}

const window = '1h'
const bucket = (limit) => tokenBucket({ limit, window })

export const ours = {
  'headgate tokenBucket': headgate(bucket),
  'headgate fixedWindow': headgate((limit) => fixedWindow({ limit, window })),
  'headgate slidingWindow': headgate((limit) => slidingWindow({ limit, window })),
  'headgate slidingLog of 100': headgate((limit) => slidingLog({ limit: Math.min(limit, 100), window })),
  'headgate, two policies': headgate((limit) => [bucket(limit), slidingWindow({ name: 'day', limit, window: '1d' })]),
}

export const variants = {
  'headgate tokenBucket, batch: false': headgate(bucket, { batch: false }),
  'headgate tokenBucket, refusalCache: false': headgate(bucket, { refusalCache: false }),
  'headgate fixedWindow, leases of 100': headgate((limit) => fixedWindow({ limit, window }), {
    leases: { units: 100 },
  }),
}

/** The usual script of a token bucket: one number, one policy, one call. */
const bareBucket = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local burst = tonumber(ARGV[1])
  local interval = tonumber(ARGV[2])
  local value = redis.call('GET', KEYS[1])
  local tat = math.max(value and tonumber(value) or 0, now) + interval
  if tat - now > burst * interval then return -1 end
  redis.call('SET', KEYS[1], string.format('%d', tat), 'PX', math.ceil((tat - now) / 1000) + 1000)
  return math.floor(burst - (tat - now) / interval)
`

/** The same for the calls that come in one turn of the event loop: what a batch can cost at least with an expiry a key. */
const bareBatch = `
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local burst = tonumber(ARGV[1])
  local interval = tonumber(ARGV[2])
  local values = redis.call('MGET', unpack(KEYS))
  local reply = {}
  for n = 1, #KEYS do
    local tat = math.max(values[n] and tonumber(values[n]) or 0, now) + interval
    if tat - now > burst * interval then
      reply[n] = -1
    else
      redis.call('SET', KEYS[n], string.format('%d', tat), 'PX', math.ceil((tat - now) / 1000) + 1000)
      reply[n] = math.floor(burst - (tat - now) / interval)
    end
  end
  return reply
`

/** Sends the calls of one turn together, up to 32 of them. Keys may not occur twice in a turn. */
function inBatches(send) {
  let waiting = []
  const flush = async () => {
    const calls = waiting
    waiting = []
    const replies = await send(calls.map(({ key }) => key))
    for (const [n, { resolve }] of calls.entries()) resolve(replies[n] >= 0)
  }
  return (key) =>
    new Promise((resolve) => {
      if (waiting.push({ key, resolve }) === 1) setImmediate(() => waiting.length > 0 && flush())
      if (waiting.length === 32) flush()
    })
}

/** Counts nothing twice only if the keys of a batch differ, so it is measured with many keys. */
export const batched = {
  'a bare bucket in batches': async (bare, limit) => {
    const sha = await bare.load(bareBatch)
    const terms = [`${limit}`, `${Math.ceil((windowMs * 1000) / limit)}`]
    const ask = inBatches((keys) => bare.evalSha(sha, keys, terms))
    return limit < 10 ? floors['EVALSHA of a bare bucket'](bare, limit) : ask
  },
}

export const floors = {
  INCR: (bare, limit) => async (key) => (await bare.incr(key)) <= limit,
  'EVALSHA of a bare bucket': async (bare, limit) => {
    const sha = await bare.load(bareBucket)
    const terms = [`${limit}`, `${Math.ceil((windowMs * 1000) / limit)}`]
    return async (key) => (await bare.evalSha(sha, [key], terms)) >= 0
  },
}

const flexible = {
  'rate-limiter-flexible': ({ client, packaged }, limit, options = {}) => {
    const terms = {
      storeClient: client,
      useRedisPackage: packaged,
      points: limit,
      duration: windowMs / 1000,
      ...options,
    }
    const limiter = new RateLimiterRedis(terms)
    return async (key) => {
      try {
        await limiter.consume(key)
        return true
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal
        return false
      }
    }
  },
}

/** Targets that take any client. */
export const anyClient = {
  'rate-limit-redis': async (bare, limit) => {
    const store = new ExpressStore({ sendCommand: (...command) => bare.send(command) })
    await store.init(/** @type {any} */ ({ windowMs }))
    return async (key) => (await store.increment(key)).totalHits <= limit
  },
  ...flexible,
  'hono-rate-limiter': async (bare, limit) => {
    const client = {
      scriptLoad: bare.load,
      evalsha: bare.evalSha,
      decr: (key) => bare.send(['DECR', key]),
      del: (key) => bare.send(['DEL', key]),
    }
    const store = new HonoStore(/** @type {any} */ ({ client }))
    store.init(/** @type {any} */ ({ windowMs }))
    return async (key) => (await store.increment(key)).totalHits <= limit
  },
}

/** Targets that need ioredis. */
export const ioredisOnly = {
  '@fastify/rate-limit': ({ client }, limit) => {
    const store = new FastifyStore(false, false, client)
    return (key) =>
      new Promise((resolve, reject) =>
        store.incr(
          key,
          (error, counted) => (error ? reject(error) : resolve(counted.current <= limit)),
          windowMs,
          limit,
        ),
      )
  },
  // It keeps each call of its window of `duration` microseconds, as its middleware does. Its cost grows with its limit.
  'koa-ratelimit': ({ client }, limit) => {
    const limiter = (id) => new KoaLimiter({ id, db: client, max: limit, duration: windowMs * 1000 })
    return async (key) => (await limiter(key).get()).remaining > 0
  },
}

/** Refuses locally when a key has nothing left, as its documentation recommends for refused keys. */
export const blocking = {
  'rate-limiter-flexible, inMemoryBlockOnConsumed': (bare, limit) =>
    flexible['rate-limiter-flexible'](bare, limit, { inMemoryBlockOnConsumed: limit }),
}
