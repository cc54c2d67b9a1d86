import { connect, serverCpu } from '../lib/redis-client.mjs'
import { startServer } from '../lib/redis-server.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { anyClient, batched, blocking, floors, ioredisOnly, ours, variants } from '../targets/redis.mjs'

const open = 1_000_000_000
const manyKeys = 10_000
/** Calls before the measurement, until the code is fully optimised. */
const warmUp = { one: 10_000, many: 150_000 }

/**
 * Calls to a server of its own, with a fixed number in flight, after a warm-up.
 * @param expected how many of the calls must be admitted: all of them or none
 */
export async function traffic(
  make,
  {
    client = 'ioredis',
    flight,
    calls,
    keys = manyKeys,
    limit = open,
    admits = true,
    warm = flight === 1 ? warmUp.one : warmUp.many,
  },
) {
  const server = await startServer()
  const bare = await connect(client, server.port)
  try {
    const ask = await make(bare, limit)
    await probe(make, bare)
    let asked = 0
    const run = async (count) => {
      let left = count
      let admitted = 0
      const worker = async () => {
        while (left-- > 0) if (await ask(`user-${asked++ % keys}`)) admitted++
      }
      await Promise.all(Array.from({ length: flight }, worker))
      return admitted
    }
    await run(warm)
    const [start, cpu, remote] = [performance.now(), process.cpuUsage(), await serverCpu(bare)]
    const admitted = await run(calls)
    const seconds = (performance.now() - start) / 1000
    const { user, system } = process.cpuUsage(cpu)
    if (admitted !== (admits ? calls : 0)) throw new Error(`admitted ${admitted} of ${calls}`)
    return {
      perSecond: calls / seconds,
      clientUs: (user + system) / calls,
      serverUs: ((await serverCpu(bare)) - remote) / calls,
      roundTripUs: (seconds * 1e6 * flight) / calls,
    }
  } finally {
    bare.close()
    server.stop()
  }
}

/** Before the measurement, checks that a limit of five admits five of eight calls, on a separate limiter and key. */
async function probe(make, bare) {
  const ask = await make(bare, 5)
  let admitted = 0
  for (let n = 0; n < 8; n++) if (await ask('probe')) admitted++
  if (admitted !== 5) throw new Error(`admitted ${admitted} of 8, the limit is 5`)
}

const all = { floor: floors, headgate: ours, peer: { ...anyClient, ...ioredisOnly } }
const leased = 'headgate fixedWindow, leases of 100'
const one = { headgate: ['headgate tokenBucket', 'headgate fixedWindow'] }

function cases(workload, targets, terms, quick = (_target) => false) {
  return Object.entries(targets).flatMap(([kind, makers]) =>
    Object.entries(makers).map(([target, make]) => ({
      workload,
      target,
      kind,
      quick: quick(target),
      measure: () => traffic(make, terms),
    })),
  )
}

function pick(makers, names) {
  return Object.fromEntries(names.map((name) => [name, makers[name]]))
}

/** Bytes of one key, as Redis reports them, after this many calls. */
async function bytes(make, calls, limit) {
  const server = await startServer()
  const bare = await connect('ioredis', server.port)
  try {
    const ask = await make(bare, limit)
    for (let n = 0; n < calls; n++) if (!(await ask('203.0.113.7'))) throw new Error('refused')
    const [key, ...others] = /** @type {string[]} */ (await bare.send(['KEYS', '*']))
    if (others.length > 0) throw new Error(`several keys: ${[key, ...others]}`)
    return { bytes: Number(await bare.send(['MEMORY', 'USAGE', key])) }
  } finally {
    bare.close()
    server.stop()
  }
}

const sized = [
  ['an integer by INCR', 'floor', floors.INCR, 3, 1000],
  ['headgate tokenBucket', 'headgate', ours['headgate tokenBucket'], 3, 1000],
  ['headgate fixedWindow', 'headgate', ours['headgate fixedWindow'], 3, 1000],
  ['headgate slidingWindow', 'headgate', ours['headgate slidingWindow'], 3, 1000],
  ['rate-limit-redis', 'peer', anyClient['rate-limit-redis'], 3, 1000],
  ['rate-limiter-flexible', 'peer', anyClient['rate-limiter-flexible'], 3, 1000],
  ['@fastify/rate-limit', 'peer', ioredisOnly['@fastify/rate-limit'], 3, 1000],
  ['headgate slidingLog, 100 calls held', 'headgate', ours['headgate slidingLog of 100'], 100, 100],
  ['koa-ratelimit, 100 calls held', 'peer', ioredisOnly['koa-ratelimit'], 100, 1000],
].map(([target, kind, make, calls, limit]) => ({
  workload: 'bytes of a key',
  target,
  kind,
  measure: () => bytes(make, calls, limit),
}))

const columns = [
  { metric: 'perSecond', label: 'decisions a second' },
  { metric: 'clientUs', label: 'client CPU us' },
  { metric: 'serverUs', label: 'server CPU us' },
]
const ratio = [
  { to: 'INCR', label: 'decisions, to INCR' },
  { to: 'INCR', metric: 'serverUs', label: 'server CPU, to INCR' },
]
const table = { metric: 'perSecond', columns, ratio }

const joined = 'ioredis, 64 in flight, 10,000 keys'
const packaged = 'node-redis, 64 in flight, 10,000 keys'
const single = 'ioredis, 1 in flight'
/** The workloads of other numbers in flight. */
const flights = [4, 16, 256, 1024].map((flight) => ({ flight, name: `ioredis, ${flight} in flight, 10,000 keys` }))
const refused = 'ioredis, 64 in flight, one hot key, refused'
const hot = 'ioredis, 64 in flight, one hot key, admitted'
const alone = 'ioredis, 1 in flight, one hot key, admitted'

export default defineSuite({
  name: 'redis',
  title: 'Decisions on Redis',
  rounds: 5,
  redis: true,
  workloads: [
    { ...table, name: joined, plot: true },
    { ...table, name: packaged, plot: true },
    {
      ...table,
      name: single,
      columns: [{ metric: 'roundTripUs', label: 'us a decision' }, ...columns.slice(1)],
      metric: 'roundTripUs',
      ratio: { to: 'EVALSHA of a bare bucket', label: 'time, to EVALSHA' },
    },
    ...flights.map(({ name }) => ({ ...table, name })),
    { ...table, name: hot },
    {
      ...table,
      name: alone,
      about: 'Without leases, each call needs one round trip. With leases, most calls need none.',
      columns: [{ metric: 'roundTripUs', label: 'us a decision' }, ...columns.slice(1)],
      metric: 'roundTripUs',
      ratio: { to: 'headgate fixedWindow', label: 'time, to a round trip' },
    },
    { ...table, name: refused },
    {
      name: 'bytes of a key',
      metric: 'bytes',
      columns: [{ metric: 'bytes', label: 'bytes, MEMORY USAGE' }],
      ratio: { to: 'headgate tokenBucket', label: 'to headgate' },
    },
  ],
  cases: [
    ...cases(
      joined,
      {
        ...all,
        floor: { ...floors, ...batched },
        headgate: { ...ours, ...pick(variants, ['headgate tokenBucket, batch: false']) },
      },
      {
        flight: 64,
        calls: 100_000,
      },
      (target) => ['INCR', 'headgate tokenBucket', 'rate-limit-redis', 'rate-limiter-flexible'].includes(target),
    ),
    ...cases(
      packaged,
      { floor: floors, headgate: pick(ours, one.headgate), peer: anyClient },
      { client: 'redis', flight: 64, calls: 100_000 },
    ),
    ...cases(single, { ...all, headgate: pick(ours, one.headgate) }, { flight: 1, calls: 10_000 }),
    ...flights.flatMap(({ flight, name }) =>
      cases(
        name,
        { ...all, floor: { ...floors, ...batched }, headgate: pick(ours, one.headgate) },
        { flight, calls: flight < 16 ? 20_000 : 60_000 },
      ),
    ),
    ...cases(
      hot,
      {
        floor: floors,
        headgate: { ...pick(ours, one.headgate), ...pick(variants, [leased]) },
        peer: anyClient,
      },
      { flight: 64, calls: 100_000, keys: 1 },
    ),
    ...cases(
      alone,
      {
        floor: pick(floors, ['EVALSHA of a bare bucket']),
        headgate: { ...pick(ours, ['headgate fixedWindow']), ...pick(variants, [leased]) },
        peer: anyClient,
      },
      { flight: 1, calls: 10_000, keys: 1 },
    ),
    ...cases(
      refused,
      {
        floor: floors,
        headgate: { ...pick(ours, one.headgate), ...pick(variants, ['headgate tokenBucket, refusalCache: false']) },
        peer: { ...anyClient, ...blocking },
      },
      { flight: 64, calls: 100_000, keys: 1, limit: 5, admits: false },
    ),
    ...sized,
  ],
  aims: [
    { workload: joined, target: 'headgate tokenBucket', metric: 'perSecond', to: 'INCR', least: 1.5 },
    { workload: joined, target: 'headgate tokenBucket', metric: 'perSecond', to: 'rate-limit-redis', least: 2 },
    { workload: joined, target: 'headgate tokenBucket', metric: 'perSecond', to: 'hono-rate-limiter', least: 2 },
    { workload: joined, target: 'headgate tokenBucket', metric: 'clientUs', most: 3.5 },
    { workload: joined, target: 'headgate tokenBucket', metric: 'serverUs', most: 4 },
    { workload: packaged, target: 'headgate tokenBucket', metric: 'perSecond', to: 'rate-limiter-flexible', least: 3 },
    { workload: packaged, target: 'headgate tokenBucket', metric: 'perSecond', to: 'rate-limit-redis', least: 3 },
    {
      workload: single,
      target: 'headgate tokenBucket',
      metric: 'roundTripUs',
      to: 'EVALSHA of a bare bucket',
      most: 1.05,
    },
    { workload: alone, target: leased, metric: 'perSecond', to: 'headgate fixedWindow', least: 10 },
    { workload: 'bytes of a key', target: 'headgate tokenBucket', metric: 'bytes', most: 104 },
    { workload: 'bytes of a key', target: 'headgate slidingLog, 100 calls held', metric: 'bytes', most: 1200 },
  ],
})
