/*
 * One process of a fleet that shares a limit of calls in flight. It makes all its calls at once and reports when each function
 * began and ended, by process.hrtime, which is one clock for all processes of a machine. With `length: 0` its functions never
 * end. The task comes as JSON in the first argument. The calls start at a message, so that all processes start together.
 */
import { concurrency } from 'headgate'
import { Pacer } from 'headgate/pacer'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

const { port, limit, lease, calls, length } = JSON.parse(process.argv[2])
const client = new Redis(port)
const store = redisStore({ client, timeout: '10s' })
const pacer = new Pacer(concurrency({ limit, lease }), { name: 'fleet', store, storeTimeout: '10s' })
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000
const runs = []

async function work(n) {
  const begin = now()
  if (length === 0) process.send('holds')
  await new Promise((resolve) => (length === 0 ? undefined : setTimeout(resolve, length * (1 + (n % 3)))))
  runs.push({ begin, end: now() })
}

await client.ping()
process.send('ready')
process.once('message', async () => {
  await Promise.all(Array.from({ length: calls }, (_, n) => pacer.throttle(() => work(n))))
  await pacer.drain()
  client.disconnect()
  process.send(runs)
  process.disconnect()
})
