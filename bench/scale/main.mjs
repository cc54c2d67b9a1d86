/*
 * npm run bench:scale: eight processes share one limit on a real Redis, in four modes. It counts what they admit beyond the limit, what they
 * refuse while units are left, and the round trips.
 */
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { Redis } from 'ioredis'
import { machine } from '../lib/machine.mjs'
import { startServer } from '../lib/redis-server.mjs'

const worker = fileURLToPath(new URL('worker.mjs', import.meta.url))
const processes = 8
const seconds = 8
const limit = 1000
const policy = `${limit}/1s token-bucket`

const modes = {
  strict: {},
  'leases of 100': { leases: { units: 100 } },
  'leases auto': { leases: 'auto' },
  shares: { shares: { instances: processes } },
}
const equal = Array.from({ length: processes }, () => 1)
const skewed = equal.map((_, process) => 2 ** -process)

/** When the requests come, in milliseconds, and how likely each process gets one. */
const demands = {
  'even, 0.8 of the limit': { weights: equal, times: poisson(0.8 * limit) },
  'even, 1.5 of the limit': { weights: equal, times: poisson(1.5 * limit) },
  'skewed, 1.5 of the limit': { weights: skewed, times: poisson(1.5 * limit) },
  'bursts of 3000 every 2 s': {
    weights: equal,
    times: Array.from({ length: (seconds / 2) * 3000 }, (_, n) => Math.floor(n / 3000) * 2000),
  },
}

function poisson(perSecond) {
  const times = []
  for (let time = 0; time < seconds * 1000; time += (-Math.log(1 - Math.random()) * 1000) / perSecond) times.push(time)
  return times
}

function dealt({ weights, times }) {
  const sum = weights.reduce((all, weight) => all + weight)
  const lists = weights.map(() => [])
  for (const time of times) {
    let left = Math.random() * sum
    const process = weights.findIndex((weight) => {
      left -= weight
      return left < 0
    })
    lists[Math.max(0, process)].push(time)
  }
  return lists
}

/** What an exact bucket would have admitted, and by how much these calls went beyond it at most. */
function exactly(times, burst, perMillisecond) {
  let level = 0
  let last = 0
  let admitted = 0
  for (const time of times) {
    level = Math.max(0, level - (time - last) * perMillisecond)
    last = time
    if (level + 1 > burst) continue
    level++
    admitted++
  }
  return admitted
}

function beyond(times, burst, perMillisecond) {
  let level = 0
  let last = times[0]
  let most = 0
  for (const time of times) {
    level = Math.max(0, level - (time - last) * perMillisecond) + 1
    last = time
    most = Math.max(most, level - burst)
  }
  return Math.ceil(Math.max(0, most))
}

async function run(port, client, mode, demand) {
  await client.flushall()
  const workers = dealt(demand).map((times) => {
    const task = { port, mode, policy, times, key: 'k' }
    return fork(worker, [JSON.stringify(task)])
  })
  await Promise.all(workers.map((each) => once(each, 'message')))
  await client.config('RESETSTAT')
  const start = Date.now() + 300
  for (const each of workers) each.send(start)
  const results = await Promise.all(workers.map(async (each) => (await once(each, 'message'))[0]))
  const info = await client.info('commandstats')
  const scripts = [...info.matchAll(/cmdstat_evalsha:calls=(\d+)/g)].reduce((all, [, calls]) => all + Number(calls), 0)
  for (const each of workers) each.kill()
  const admitted = results.flatMap((each) => each.admitted).sort((a, b) => a - b)
  const calls = demand.times.length
  return [
    beyond(admitted, limit, limit / 1000),
    Math.max(0, exactly(demand.times, limit, limit / 1000) - admitted.length),
    ((1000 * scripts) / calls).toFixed(0),
    Math.max(...results.map(({ p99 }) => p99)).toFixed(1),
  ]
}

function print(...cells) {
  console.log(cells.map((cell, n) => `${cell}`[n === 0 ? 'padEnd' : 'padStart'](n === 0 ? 30 : 24)).join(' '))
}

const server = await startServer()
const client = new Redis(server.port, '127.0.0.1')
console.log(`${machine().cpu}; ${processes} processes, ${policy}, ${seconds} s\n`)
for (const [name, demand] of Object.entries(demands)) {
  print(name, 'beyond the limit', 'refused with units left', 'round trips a 1000', 'p99 ms')
  for (const [mode, options] of Object.entries(modes)) print(mode, ...(await run(server.port, client, options, demand)))
  console.log()
}
client.disconnect()
server.stop()
