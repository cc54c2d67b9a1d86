import { inspectRedis, redisStore } from 'headgate/redis'
import { Cluster, Redis } from 'ioredis'
import { checkRedis } from './check-redis.mjs'
import { limitersIn } from './limiter-of.mjs'
import { serverError, serverOf } from './server-url.mjs'

const patience = 5000

const options = {
  lazyConnect: true,
  connectTimeout: patience,
  commandTimeout: 2 * patience,
  maxRetriesPerRequest: 0,
  retryStrategy: () => null,
}

/**
 * Connects once, and gives up at the first failure. In cluster mode, connects to all nodes.
 * @throws UsageError
 */
export async function openRedis(url, { prefix, names }) {
  const server = serverOf(url, 'redis', ['redis:', 'rediss:'])
  /** @type {any} */
  let client = new Redis(url, options)
  await connected(client, server)
  const clustered = (await answer(client.info('cluster'), '')).includes('cluster_enabled:1')
  if (clustered) {
    const { username, password, tls } = client.options
    const nodes = [{ host: client.options.host, port: client.options.port }]
    client.disconnect()
    client = new Cluster(nodes, {
      lazyConnect: true,
      clusterRetryStrategy: () => null,
      redisOptions: { ...options, username, password, tls },
    })
    await connected(client, server)
  }
  const inspector = inspectorOf(client, { prefix, names })
  const knowing = (more) => inspectorOf(client, { prefix, names: [...names, ...more] })
  const check = async () => {
    try {
      return await checkRedis(client, inspector, prefix, clustered)
    } catch (error) {
      throw error.name === 'HeadgateError' ? error : serverError('Redis', server, error)
    }
  }
  const limiterOf = limitersIn(() => redisStore({ client, prefix, timeout: patience }))
  return { server, inspector, inspectorOf: knowing, limiterOf, check, close: () => client.disconnect() }
}

/** @throws HeadgateError for an invalid prefix */
function inspectorOf(client, options) {
  try {
    return inspectRedis(client, options)
  } catch (error) {
    client.disconnect()
    throw error
  }
}

async function connected(client, server) {
  let last
  client.on('error', (error) => {
    last = error
  })
  try {
    await client.connect()
    await client.ping()
    if (last !== undefined) throw last // a database that is not there, which ioredis goes on without
  } catch (error) {
    client.disconnect()
    throw serverError('Redis', server, last ?? error)
  }
}

async function answer(promise, otherwise) {
  try {
    return await promise
  } catch {
    return otherwise
  }
}
