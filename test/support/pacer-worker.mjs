/*
 * One process of a fleet that keeps one pace. It makes all its calls at once and reports when each function started, and
 * the earliest time that its slot can have. Both are by process.hrtime, which is one clock for all processes of a machine.
 * The task comes as JSON in the first argument. The calls start at a message, so that all processes start together.
 */
import { slidingLog, smoothBursty, smoothWarmingUp } from 'headgate'
import { Pacer } from 'headgate/pacer'
import { redisStore } from 'headgate/redis'
import { withFailover } from 'headgate/store'
import { Redis } from 'ioredis'
import { createClient } from 'redis'

const { port, limit, window, calls, library = 'ioredis', algorithm = 'slidingLog' } = JSON.parse(process.argv[2])
const client = library === 'ioredis' ? new Redis(port) : await createClient({ socket: { port } }).connect()
const shared = redisStore({ client, timeout: '10s' })
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000
const slots = []

/** The shared store, which also notes its slots. A wait is rounded up to milliseconds and counts from the request or later. */
const store = {
  synchronous: false,
  open(terms, joins) {
    return withFailover(this, terms, joins, (bare) => {
      const ledger = shared.open(bare)
      return {
        async run(command) {
          const sent = now()
          const outcome = await ledger.run(command)
          if (command.verb === 'reserve') slots.push(sent + Math.max(0, outcome.wait - 1))
          return outcome
        },
      }
    })
  },
}

const policies = {
  slidingLog: () => slidingLog({ limit, window }),
  smoothBursty: () => smoothBursty({ rate: limit, per: window }),
  smoothWarmingUp: () => smoothWarmingUp({ rate: limit, per: window, warmup: '1s' }),
}
const pacer = new Pacer(policies[algorithm](), { name: 'third-party', store, storeTimeout: '10s' })
await client.ping()
process.send('ready')
process.once('message', async () => {
  const starts = []
  const call = () => starts.push(now())
  await Promise.all(Array.from({ length: calls }, () => pacer.throttle(call)))
  if (client instanceof Redis) client.disconnect()
  else client.destroy()
  process.send({ starts, slots: slots.sort((a, b) => a - b) })
  process.disconnect()
})
