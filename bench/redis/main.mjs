/*
 * What a decision on Redis costs, against the barest commands through the same client, in one run.
 *
 *     npm run bench:redis              ioredis; with --client=redis or --client=iovalkey the others
 *
 * One process keeps 64 calls in flight; the server is its own. CPU is that of the client's process and of the server's
 * (its /proc/PID/stat), per call. Each case is a short warm-up and then rounds that take turns, so that a busy machine
 * hits all of them; the table has the medians.
 */
import { readFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { Redis } from 'ioredis'
import { Redis as Valkey } from 'iovalkey'
import { createClient } from 'redis'
import { fixedWindow, RateLimiter, slidingLog, slidingWindow, tokenBucket } from '../../dist/src/index.js'
import { redisStore } from '../../dist/src/stores/redis/index.js'
import { startServer } from './server.mjs'

const { values } = parseArgs({
  options: {
    client: { type: 'string', default: 'ioredis' },
    rounds: { type: 'string', default: '5' },
    flight: { type: 'string', default: '64' },
  },
})
const inFlight = Number(values.flight)
const callsPerRound = 30_000
const manyKeys = 10_000

const server = await startServer()
const bare = await connect()

/** A client and its barest commands. */
async function connect() {
  if (values.client === 'redis') {
    const client = await createClient({ socket: { port: server.port } }).connect()
    return {
      client,
      incr: (key) => client.incr(key),
      evalSha: (sha, key, argument) => client.evalSha(sha, { keys: [key], arguments: [argument] }),
      load: (script) => client.scriptLoad(script),
      close: () => client.destroy(),
    }
  }
  const client = values.client === 'iovalkey' ? new Valkey(server.port) : new Redis(server.port)
  return {
    client,
    incr: (key) => client.incr(key),
    evalSha: (sha, key, argument) => client.evalsha(sha, 1, key, argument),
    load: (script) => client.script('LOAD', script),
    close: () => client.disconnect(),
  }
}

let limiters = 0

function decisions(name, policies, keys, options = {}) {
  const store = redisStore({ client: bare.client, timeout: '10s', ...options })
  const limiter = new RateLimiter({ name: `bench-${limiters++}`, policies, store })
  return { name, call: (n) => limiter.consume(`user-${n % keys}`) }
}

/** A token bucket as it is usually written, one EVALSHA for each decision: no batch, no peek, no other policies. */
const bareBucket = await bare.load(`
  local time = redis.call('TIME')
  local now = time[1] * 1000000 + time[2]
  local value = redis.call('GET', KEYS[1])
  local tat = math.max(value and tonumber(value) or 0, now) + 1
  if tat - now > tonumber(ARGV[1]) then return -1 end
  redis.call('SET', KEYS[1], string.format('%d', tat), 'PX', math.ceil((tat - now) / 1000) + 1000)
  return math.floor(tonumber(ARGV[1]) - (tat - now))
`)

const bucket = tokenBucket({ limit: 1_000_000, window: '1s' })
const cases = [
  { name: 'INCR', call: (n) => bare.incr(`incr-${n % manyKeys}`) },
  { name: 'EVALSHA of a bare bucket', call: (n) => bare.evalSha(bareBucket, `evalsha-${n % manyKeys}`, '1000000') },
  decisions('tokenBucket', bucket, manyKeys),
  decisions('tokenBucket, batch: false', bucket, manyKeys, { batch: false }),
  decisions('fixedWindow', fixedWindow({ limit: 1_000_000, window: '1m' }), manyKeys),
  decisions('slidingWindow', slidingWindow({ limit: 1_000_000, window: '1m' }), manyKeys),
  decisions('slidingLog of 100 calls', slidingLog({ limit: 100, window: '1m' }), manyKeys, { denyCache: false }),
  decisions('two policies', [bucket, slidingWindow({ limit: 1_000_000, window: '1m' })], manyKeys),
  decisions('hot key, admitted', fixedWindow({ limit: 1e9, window: '1h' }), 1),
  decisions('hot key, leases of 100', fixedWindow({ limit: 1e9, window: '1h' }), 1, { leases: { units: 100 } }),
  decisions('hot key, refused, no cache', fixedWindow({ limit: 10, window: '1h' }), 1, { denyCache: false }),
  decisions('hot key, refused', fixedWindow({ limit: 10, window: '1h' }), 1),
]

/** CPU seconds of the server's process so far: fields 14 and 15 of its stat, in ticks of 10 ms. */
function serverCpu() {
  const fields = readFileSync(`/proc/${server.pid}/stat`, 'latin1').split(') ')[1]?.split(' ') ?? []
  return (Number(fields[11]) + Number(fields[12])) / 100
}

let asked = 0

async function run({ call }, calls) {
  const started = process.hrtime.bigint()
  const cpu = process.cpuUsage()
  const remote = serverCpu()
  let left = calls
  async function worker() {
    while (left-- > 0) await call(asked++)
  }
  await Promise.all(Array.from({ length: inFlight }, worker))
  const seconds = Number(process.hrtime.bigint() - started) / 1e9
  const { user, system } = process.cpuUsage(cpu)
  return {
    perSecond: calls / seconds,
    clientCpu: (user + system) / calls,
    serverCpu: ((serverCpu() - remote) * 1e6) / calls,
  }
}

const samples = new Map(cases.map((each) => [each, []]))
for (const each of cases) await run(each, 5000)
for (let round = 0; round < Number(values.rounds); round++) {
  for (const each of cases) samples.get(each)?.push(await run(each, callsPerRound))
}

function median(numbers) {
  return numbers.toSorted((a, b) => a - b)[numbers.length >> 1]
}

function mean(numbers) {
  return numbers.reduce((sum, each) => sum + each, 0) / numbers.length
}

const [incr, evalSha] = cases.map((each) => summary(samples.get(each)))

function summary(all) {
  return {
    perSecond: median(all.map(({ perSecond }) => perSecond)),
    clientCpu: median(all.map(({ clientCpu }) => clientCpu)),
    serverCpu: mean(all.map((each) => each.serverCpu)), // its clock is coarse
  }
}

console.log(`${values.client}, ${inFlight} in flight, Node ${process.version}`)
console.table(
  Object.fromEntries(
    cases.map((each) => {
      const { perSecond, clientCpu, serverCpu } = summary(samples.get(each))
      return [
        each.name,
        {
          'per second': Math.round(perSecond),
          'x INCR': (perSecond / incr.perSecond).toFixed(2),
          'client us': clientCpu.toFixed(2),
          'server us': serverCpu.toFixed(2),
          'x EVALSHA server': (serverCpu / evalSha.serverCpu).toFixed(2),
        },
      ]
    }),
  ),
)
bare.close()
await server.stop()
