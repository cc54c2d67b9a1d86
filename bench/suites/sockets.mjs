import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import autocannon from 'autocannon'
import { defineSuite } from '../lib/suite.mjs'

const program = fileURLToPath(new URL('../lib/http-server.mjs', import.meta.url))
const open = 1_000_000_000
const seconds = 2
/** The package is a link to this repository, which has no packages of Nest: it has to find those of the benchmark. */
const besideNest = ['--preserve-symlinks']

/** Requests a second, and CPU time of the server for each request, over real sockets. The server has a process of its own. */
async function serve(framework, target, limit) {
  const child = fork(program, [framework, target, `${limit}`], { execArgv: framework === 'NestJS' ? besideNest : [] })
  try {
    const [{ port }] = await once(child, 'message')
    const url = `http://127.0.0.1:${port}/`
    const refuses = limit !== open && target !== 'alone'
    for (let n = 0; refuses && kindOf(target) !== 'floor' && n < limit; n++) await answered(url, 200, target)
    await answered(url, refuses ? 429 : 200, target)
    await load(url, 1, refuses)
    const before = await cpu(child)
    const { perSecond, total } = await load(url, seconds, refuses)
    return { perSecond, cpuUs: ((await cpu(child)) - before) / total }
  } finally {
    child.kill()
  }
}

/** Checks the first responses: the right status, and the headers that every target except the bare ones sends. */
async function answered(url, status, target) {
  const response = await fetch(url)
  const text = await response.text()
  const limited = ['x-ratelimit-limit', 'ratelimit-limit', 'retry-after'].some((name) => response.headers.has(name))
  if (response.status !== status || (status === 200 && text !== 'hello') || limited === (target === 'alone')) {
    throw new Error(`${target}: ${response.status} ${text} ${JSON.stringify([...response.headers])}`)
  }
}

async function load(url, duration, refuses) {
  const result = await autocannon({ url, duration, connections: 32, pipelining: 4 })
  const right = refuses ? result.statusCodeStats?.['429']?.count : result['2xx']
  const total = result['2xx'] + result.non2xx
  if (result.errors > 0 || total === 0 || Number(right) !== total) {
    throw new Error(`${right} of ${total} were as they ought to be, ${result.errors} errors`)
  }
  return { perSecond: total / result.duration, total }
}

async function cpu(child) {
  child.send('cpu')
  const [{ user, system }] = await once(child, 'message')
  return user + system
}

const targets = {
  Express: ['alone', 'three headers by hand', 'headgate/express', 'express-rate-limit'],
  Koa: ['alone', 'three headers by hand', 'headgate/koa', 'koa-ratelimit'],
  Fastify: ['alone', 'three headers by hand', 'headgate/fastify', '@fastify/rate-limit'],
  Hono: ['alone', 'three headers by hand', 'headgate/hono', 'hono-rate-limiter'],
  H3: ['alone', 'headgate/h3'],
  fetch: ['alone', 'headgate/fetch'],
  'node:http': ['alone', 'headgate/node'],
  NestJS: ['alone', 'headgate/nest', '@nestjs/throttler'],
}

function kindOf(target) {
  return target.startsWith('headgate') ? 'headgate' : /alone|by hand/.test(target) ? 'floor' : 'peer'
}

function cases(doing, limit) {
  return Object.entries(targets).flatMap(([framework, all]) =>
    all
      .map((target) => (doing === 'refusing' && target === 'three headers by hand' ? 'refused by hand' : target))
      .map((target) => ({
        workload: `${framework}, ${doing}`,
        target,
        kind: kindOf(target),
        measure: () => serve(framework, target, limit),
      })),
  )
}

const columns = [
  { metric: 'perSecond', label: 'requests a second' },
  { metric: 'cpuUs', label: 'CPU us a request' },
]

export default defineSuite({
  name: 'sockets',
  title: 'Requests over sockets',
  rounds: 9,
  workloads: Object.keys(targets).flatMap((framework) =>
    ['admitting', 'refusing'].map((doing) => ({
      name: `${framework}, ${doing}`,
      metric: 'perSecond',
      columns,
      ratio: [
        { to: 'alone', label: 'requests, to the framework alone' },
        { to: 'alone', metric: 'cpuUs', label: 'CPU, to the framework alone' },
      ],
    })),
  ),
  cases: [...cases('admitting', open), ...cases('refusing', 3)],
  aims: [
    ...['Express', 'Koa', 'Fastify', 'Hono'].flatMap((framework) =>
      ['admitting', 'refusing'].map((doing) => ({
        workload: `${framework}, ${doing}`,
        target: `headgate/${framework.toLowerCase()}`,
        metric: 'perSecond',
        to: 'alone',
        least: 0.9,
      })),
    ),
    { workload: 'Hono, refusing', target: 'headgate/hono', metric: 'cpuUs', to: 'hono-rate-limiter', most: 1 },
    { workload: 'Hono, admitting', target: 'headgate/hono', metric: 'cpuUs', to: 'hono-rate-limiter', most: 1 },
  ],
})
