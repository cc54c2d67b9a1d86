import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'
import { promisify } from 'node:util'
import { startRedis } from '../redis.mjs'

const program = fileURLToPath(new URL('with-node-sdk.mjs', import.meta.url))
const run = promisify(execFile)

test('with NodeSDK, in a process of its own, metrics and spans arrive, and nothing keeps the process alive', async () => {
  const redis = await startRedis()
  try {
    // It has to end by itself.
    const { stdout, stderr } = await run(process.execPath, [program, `${redis.port}`], { timeout: 60_000 })
    assert.equal(stderr, '')
    const { listening, points, spans } = JSON.parse(stdout)
    assert.deepEqual(listening, [])

    const values = (metric) =>
      Object.fromEntries(
        points
          .filter(({ name }) => name === metric)
          .map(({ attributes, value }) => [Object.values(attributes).join(' '), value]),
      )
    assert.deepEqual(values('headgate.decisions'), {
      'api 1h admitted': 2,
      'api 1h refused': 1,
      'login 1h admitted': 2,
      'mail admitted': 1,
    })
    assert.deepEqual(values('headgate.store.duration'), { redis: 3 })
    assert.deepEqual(values('headgate.breaker.state'), { redis: 0 })
    assert.deepEqual(values('headgate.keys'), { memory: 3 }) // two of login, and the pacer's
    const units = Object.fromEntries(points.map(({ name, unit }) => [name, unit]))
    assert.equal(units['headgate.store.duration'], 's')

    const [request] = spans.filter(({ name }) => name === 'request')
    assert.deepEqual(
      request.events.map(({ name, limiter, result }) => `${name} ${limiter} ${result}`),
      [
        'headgate.decision api admitted',
        'headgate.decision api admitted',
        'headgate.decision api refused',
        'headgate.decision login admitted',
      ],
    )
    const exchanges = spans.filter(({ name }) => name === 'headgate.store')
    assert.deepEqual(
      exchanges.map(({ attributes, parent }) => [attributes.limiter, attributes.store, parent]),
      Array(3).fill(['api', 'redis', request.id]),
    )
    assert.ok(!stdout.includes('ann'), 'a key is in the telemetry')
  } finally {
    await redis.stop()
  }
})
