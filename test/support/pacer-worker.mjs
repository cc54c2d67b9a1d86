/*
 * One process of a fleet that paces: asks for all its turns at once and tells when each function began, and the earliest
 * that its turn can have been. Both by process.hrtime, which is one clock for all processes of a machine.
 * What to do comes as JSON in the first argument; it starts when told to, so that all of them start together.
 */
import { slidingLog } from 'headgate'
import { Pacer } from 'headgate/pacer'
import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

const { port, limit, window, calls } = JSON.parse(process.argv[2])
const client = new Redis(port)
const shared = redisStore({ client, timeout: '10s' })
const now = () => Number(process.hrtime.bigint() / 1000n) / 1000
const turns = []

/** The store, and a note of what it promised: a wait is rounded up to milliseconds and counts from after the question. */
const store = {
  synchronous: false,
  open(terms) {
    const ledger = shared.open(terms)
    return {
      decide: (...question) => ledger.decide(...question),
      reset: (...question) => ledger.reset(...question),
      async reserve(...question) {
        const asked = now()
        const booking = await ledger.reserve(...question)
        turns.push(asked + Math.max(0, booking.wait - 1))
        return booking
      },
    }
  },
}

const pacer = new Pacer(slidingLog({ limit, window }), { name: 'third-party', store, storeTimeout: '10s' })
await client.ping()
process.send('ready')
process.once('message', async () => {
  const starts = []
  const call = () => starts.push(now())
  await Promise.all(Array.from({ length: calls }, () => pacer.throttle(call)))
  client.disconnect()
  process.send({ starts, turns: turns.sort((a, b) => a - b) })
  process.disconnect()
})
