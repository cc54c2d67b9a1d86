/*
 * npm run example:fleet: two processes of an app share one limit of 10 calls in 10 s.
 * It starts a redis-server of its own. With REDIS_PORT it uses the server on that port.
 */
import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { Redis } from 'ioredis'

const redisPort = Number(process.env.REDIS_PORT ?? (await startRedis()))
const workers = ['one', 'two'].map((name) => fork(new URL('listen.mjs', import.meta.url), [`${redisPort}`, name]))
const ports = await Promise.all(workers.map(async (worker) => (await once(worker, 'message'))[0]))

console.log('12 calls to two processes that share a limit of 10 in 10 s:\n')
for (let n = 0; n < 12; n++) {
  const response = await fetch(`http://127.0.0.1:${ports[n % 2]}/`)
  const left = response.headers.get('x-ratelimit-remaining')
  console.log(`  ${response.status}  process ${['one', 'two'][n % 2]}  left: ${left}`)
}
for (const worker of workers) worker.disconnect()
process.exit()

async function startRedis() {
  const port = await freePort()
  const options = ['--bind', '127.0.0.1', '--port', `${port}`, '--save', '', '--appendonly', 'no']
  const server = spawn('redis-server', options, { stdio: 'ignore' })
  server.once('error', () => {
    console.error('redis-server is missing. Install it (apt-get install redis-server), or set REDIS_PORT.')
    process.exit(1)
  })
  process.once('exit', () => server.kill())
  const probe = new Redis(port, { retryStrategy: () => 20, maxRetriesPerRequest: null })
  probe.on('error', () => {}) // until the server listens
  await probe.ping()
  probe.disconnect()
  return port
}

async function freePort() {
  const listener = createServer().listen(0, '127.0.0.1')
  await once(listener, 'listening')
  const { port } = /** @type {import('node:net').AddressInfo} */ (listener.address())
  listener.close()
  return port
}
