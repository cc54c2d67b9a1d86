/*
 * A real Redis that is stopped, paused, killed and restarted under two clients. The store never admits more than
 * burst + rate * time for a key, and one burst more each time Redis lost its memory.
 */
import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { gcra, RateLimiter } from 'headgate'
import { Pacer } from 'headgate/pacer'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'
import { startServer } from '../lib/redis-server.mjs'

const rate = 20
const burst = 20
const policy = () => gcra({ limit: rate, window: '1s', burst })

/** What one process has: a connection, a limiter, a pacer. */
function member(port) {
  const client = new Redis(port, '127.0.0.1', { enableOfflineQueue: false, retryStrategy: () => 50 })
  client.on('error', () => undefined)
  const store = redisStore({ client })
  return {
    client,
    limiter: new RateLimiter({ name: 'soak', policies: policy(), store }),
    pacer: new Pacer(policy(), { store, name: 'paced', storeTimeout: '500ms', onStoreError: 'closed' }),
  }
}

/** Another program may use the port meanwhile. */
async function startAgain(port) {
  for (let tries = 0; ; tries++) {
    try {
      return await startServer(port)
    } catch (error) {
      if (tries === 50) throw error
      await sleep(100)
    }
  }
}

export async function redis({ until, random }) {
  const counts = {
    calls: 0,
    admitted: 0,
    refused: 0,
    cancelled: 0,
    failed: 0,
    aborted: 0,
    paced: 0,
    local: 0,
    restarts: 0,
    stops: 0,
  }
  let server = await startServer()
  const { port } = server
  const began = performance.now()
  const members = [member(port), member(port)]
  const admitted = new Map()
  const admit = (key) => {
    admitted.set(key, (admitted.get(key) ?? 0) + 1)
    counts.admitted++
  }

  const call = async ({ limiter }) => {
    const key = `${random.below(5)}`
    const reserves = random.chance(0.1)
    const result = await (reserves ? limiter.reserve(key) : limiter.consume(key))
    const decision = reserves ? result.decision : result
    if (decision.source === 'fallback') counts.local++
    else if (!decision.allowed) counts.refused++
    else if (!reserves || random.chance(0.5)) admit(key)
    else {
      await result.cancel()
      counts.cancelled++
    }
  }
  const pace = async ({ pacer }) => {
    const signal = AbortSignal.timeout(random.pick([5, 50, 5000]))
    await pacer.acquire(1, { signal })
    admitted.set('paced', (admitted.get('paced') ?? 0) + 1)
    counts.paced++
  }
  const caller = async (who, run) => {
    while (performance.now() < until) {
      counts.calls++
      await run(who).catch((error) => {
        counts[error?.name === 'TimeoutError' ? 'aborted' : 'failed']++
      })
      await sleep(random.below(8))
    }
  }
  const trouble = async () => {
    while (performance.now() + 5000 < until) {
      await sleep(2000 + random.below(3000))
      if (random.chance(0.5)) {
        process.kill(server.pid, 'SIGSTOP')
        await sleep(random.below(1500))
        process.kill(server.pid, 'SIGCONT')
        counts.stops++
      } else {
        await server.kill()
        await sleep(random.below(1500))
        server = await startAgain(port)
        counts.restarts++
      }
    }
  }
  const callers = members.flatMap((who) => [caller(who, call), caller(who, call), caller(who, call), caller(who, pace)])
  await Promise.all([...callers, trouble()])

  const most = burst * (1 + counts.restarts) + (rate * (performance.now() - began)) / 1000
  for (const { client, pacer } of members) {
    pacer.close()
    const ended = client.status === 'ready' ? once(client, 'end') : undefined
    client.disconnect()
    await ended
  }
  await server.kill()
  for (const [key, count] of admitted)
    if (count > most) throw new Error(`key ${key}: ${count} admitted, at most ${most}`)
  return { ...counts, mostOfOneKey: Math.max(...admitted.values()), bound: Math.floor(most) }
}
