import { addresses, addresses6 } from '../lib/keys.mjs'
import { defineSuite } from '../lib/suite.mjs'
import { timed } from '../lib/timing.mjs'
import { bare, byHand, compatRateLimit, draftByHand, expressRateLimit, headgate, through } from '../targets/express.mjs'
import { fastifyTargets, koaTargets } from '../targets/koa-fastify.mjs'
import { webTargets } from '../targets/web.mjs'

const open = 1_000_000_000
/** The number of clients that call one after the other: more than a cache of recent addresses would hold. */
const clients = 2 ** 13

const callers = {
  'Express, IPv4': () => addresses(clients),
  'Express, IPv6': () => addresses6(clients),
  'Express, ::ffff: IPv4': () => addresses(clients).map((address) => `::ffff:${address}`),
}

const floor = 'request and response alone'
const floorCase = { target: floor, kind: 'floor', make: () => bare }

const legacy = [
  floorCase,
  { target: 'three headers by hand', kind: 'floor', make: () => byHand },
  { target: 'headgate/express', kind: 'headgate', make: (limit) => headgate(limit, 'legacy') },
  {
    target: 'headgate/compat/express-rate-limit',
    kind: 'headgate',
    make: (limit) => compatRateLimit(limit, 'legacy'),
  },
  { target: 'express-rate-limit', kind: 'peer', make: (limit) => expressRateLimit(limit, 'legacy') },
]

const drafts = [
  floorCase,
  { target: 'two headers by hand', kind: 'floor', make: () => draftByHand },
  { target: 'headgate/express, draft-8', kind: 'headgate', make: (limit) => headgate(limit, 'draft-8') },
  { target: 'headgate/express, draft-11', kind: 'headgate', make: (limit) => headgate(limit, 'draft-11') },
  {
    target: 'headgate/compat/express-rate-limit, draft-8',
    kind: 'headgate',
    make: (limit) => compatRateLimit(limit, 'draft-8'),
  },
  { target: 'express-rate-limit, draft-8', kind: 'peer', make: (limit) => expressRateLimit(limit, 'draft-8') },
]

function admitting(workload, targets, from) {
  return targets.map(({ target, kind, make }) => ({
    workload,
    target,
    kind,
    quick: workload === 'Express, IPv4' || workload === 'Express, IPv6',
    measure: () => timed(through(from(), make(open))),
  }))
}

/** Every client makes its one request first. Then all are refused. */
function refusing() {
  const few = () => addresses(16)
  return legacy
    .filter(({ kind, target }) => kind !== 'floor' || target === floor)
    .map(({ target, kind, make }) => ({
      workload: 'Express, refused',
      target,
      kind,
      measure: async () => {
        if (kind === 'floor') return timed(through(few(), make(open)))
        const loop = through(few(), make(3))
        const admitted = await loop(64)
        if (admitted !== 48) throw new Error(`admitted ${admitted} of 64, allowed are 48`)
        return timed(loop, false)
      },
    }))
}

function whole(workload, targets) {
  return Object.entries(targets).map(([target, make]) => ({
    workload,
    target,
    kind: target.startsWith('headgate') ? 'headgate' : /alone|by hand/.test(target) ? 'floor' : 'peer',
    measure: async () => timed(await make(addresses(clients), open)),
  }))
}

/** Doors whose applications are those of the suite `sockets`. NestJS takes no message without a socket, so it stands only there. */
const doors = {
  Hono: 'headgate/hono',
  H3: 'headgate/h3',
  fetch: 'headgate/fetch',
  'node:http': 'headgate/node',
}

/** Each client makes its requests at a limit that admits all, or its only one first, and then all are refused. */
function throughDoor(framework) {
  const targets = webTargets(framework)
  const rows = whole(framework, targets)
  const refused = Object.entries(targets).map(([target, make]) => ({
    workload: `${framework}, refused`,
    target,
    kind: rows.find((row) => row.target === target).kind,
    measure: async () => {
      const few = addresses(16)
      if (target.endsWith('alone')) return timed(await make(few, open))
      const loop = await make(few, 3)
      const admitted = await loop(64)
      if (admitted !== 48) throw new Error(`admitted ${admitted} of 64, allowed are 48`)
      return timed(loop, false)
    },
  }))
  return [...rows, ...refused]
}

const columns = [
  { metric: 'cpuNs', label: 'CPU ns a request' },
  { metric: 'cpuNsAdded', label: 'CPU ns added' },
  { metric: 'nsAdded', label: 'wall ns added' },
]
const table = { metric: 'cpuNsAdded', columns, floor, ratio: { to: 'headgate/express', label: 'added, to headgate' } }

export default defineSuite({
  name: 'http',
  title: 'A request, without its sockets',
  rounds: 9,
  workloads: [
    { ...table, name: 'Express, IPv4', plot: true },
    { ...table, name: 'Express, IPv6', plot: true },
    { ...table, name: 'Express, ::ffff: IPv4' },
    {
      ...table,
      name: 'Express, draft headers',
      ratio: { to: 'headgate/express, draft-8', label: 'added, to headgate' },
    },
    { ...table, name: 'Express, refused' },
    { ...table, name: 'Koa', floor: 'Koa alone', ratio: { to: 'headgate/koa', label: 'added, to headgate' } },
    {
      ...table,
      name: 'Fastify',
      floor: 'Fastify alone',
      ratio: { to: 'headgate/fastify', label: 'added, to headgate' },
    },
    ...Object.entries(doors).flatMap(([framework, door]) =>
      [framework, `${framework}, refused`].map((name) => ({
        ...table,
        name,
        floor: `${framework} alone`,
        ratio: [
          { to: door, label: 'added, to headgate' },
          { to: `${framework} alone`, metric: 'cpuNs', label: 'CPU, to the framework alone' },
        ],
      })),
    ),
  ],
  cases: [
    ...Object.entries(callers).flatMap(([workload, from]) => admitting(workload, legacy, from)),
    ...admitting('Express, draft headers', drafts, callers['Express, IPv4']),
    ...refusing(),
    ...whole('Koa', koaTargets),
    ...whole('Fastify', fastifyTargets),
    ...Object.keys(doors).flatMap(throughDoor),
  ],
  aims: [
    { workload: 'Express, IPv4', target: 'headgate/express', metric: 'cpuNsAdded', most: 1000 },
    { workload: 'Express, IPv6', target: 'headgate/express', metric: 'cpuNsAdded', most: 1200 },
    { workload: 'Express, ::ffff: IPv4', target: 'headgate/express', metric: 'cpuNsAdded', most: 1200 },
    { workload: 'Express, draft headers', target: 'headgate/express, draft-8', metric: 'cpuNsAdded', most: 1300 },
    { workload: 'Koa', target: 'headgate/koa', metric: 'cpuNsAdded', most: 1000 },
    { workload: 'Fastify', target: 'headgate/fastify', metric: 'cpuNsAdded', most: 1000 },
    { workload: 'Hono', target: 'headgate/hono', metric: 'cpuNsAdded', to: 'hono-rate-limiter', most: 0.8 },
    { workload: 'Hono, refused', target: 'headgate/hono', metric: 'cpuNsAdded', to: 'hono-rate-limiter', most: 1 },
  ],
})
