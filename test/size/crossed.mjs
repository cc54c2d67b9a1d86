/*
 * Which files a call crosses: those that have a function which runs during one admitted call, by the coverage of V8. The sources are built
 * file by file for that. One call goes before, so that what happens once is not counted.
 */
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs'
import { Session } from 'node:inspector/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import express from 'express'
import { Redis } from 'ioredis'
import { build } from 'rolldown'

const [core, expressAdapter, redis] = ['src/index', 'adapters/express', 'src/stores/redis/index']

/** How many files a call crosses, by its way. Undefined for Redis if there is no server on this machine. */
export async function filesCrossed(root) {
  const cache = join(root, 'node_modules', '.cache')
  mkdirSync(cache, { recursive: true })
  const folder = mkdtempSync(join(cache, 'crossed-')) // inside the root, so that the packages are found
  try {
    await build({
      cwd: root,
      input: Object.fromEntries([core, expressAdapter, redis].map((name) => [name, `${name}.ts`])),
      platform: 'neutral',
      logLevel: 'silent',
      external: (id) => /^[a-z@]/.test(id) && !/^(src|adapters)\//.test(id),
      resolve: { alias: { '#platform': join(root, 'src/platform/node.ts') } },
      output: { dir: folder, preserveModules: true, preserveModulesRoot: root, entryFileNames: '[name].js' },
    })
    const start = pathToFileURL(folder).href
    const load = (file) => import(`${start}/${file}.js`)
    return {
      memory: await crossedOnMemory(start, await load(core)),
      express: await crossedOnExpress(start, await load(expressAdapter)),
      redis: await crossedOnRedis(start, await load(core), await load(redis)),
    }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

/** The number of files under `start` with a function that the second of two calls runs. */
async function crossed(start, call) {
  const session = new Session()
  session.connect()
  await session.post('Profiler.enable')
  await session.post('Profiler.startPreciseCoverage', { callCount: true, detailed: false })
  await call()
  await session.post('Profiler.takePreciseCoverage')
  await call()
  const { result } = await session.post('Profiler.takePreciseCoverage')
  session.disconnect()
  const ran = ({ ranges }) => ranges[0].count > 0
  return result.filter(({ url, functions }) => url.startsWith(start) && functions.some(ran)).length
}

function crossedOnMemory(start, { RateLimiter }) {
  const limiter = new RateLimiter({ policies: '100/15m' })
  return crossed(start, () => limiter.consume('ann'))
}

async function crossedOnExpress(start, { rateLimit }) {
  const app = express().use(rateLimit('100/15m'))
  app.get('/', (_request, response) => response.end())
  const server = app.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const count = await crossed(start, () =>
    fetch(`http://127.0.0.1:${server.address().port}/`).then((each) => each.text()),
  )
  server.closeAllConnections()
  server.close()
  return count
}

async function crossedOnRedis(start, { RateLimiter }, { redisStore }) {
  if (spawnSync('redis-server', ['--version']).status !== 0) return undefined
  const folder = mkdtempSync('/tmp/headgate-crossed-') // the path of a socket has to be short
  const path = join(folder, 'redis.sock')
  const options = ['--port', '0', '--unixsocket', path, '--save', '', '--dir', folder]
  const server = spawn('redis-server', options, { stdio: 'ignore' })
  const client = new Redis({ path, retryStrategy: () => 20, maxRetriesPerRequest: null }).on('error', () => {})
  try {
    await new Promise((ready) => client.once('ready', ready))
    const store = redisStore({ client, timeout: '10s' })
    const limiter = new RateLimiter({ name: 'api', policies: '100/15m', store })
    return await crossed(start, () => limiter.consume('ann'))
  } finally {
    client.disconnect()
    server.kill()
    await once(server, 'exit')
    rmSync(folder, { recursive: true, force: true })
  }
}
