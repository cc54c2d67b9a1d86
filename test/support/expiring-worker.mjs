/*
 * A process that makes reservations that expire, settles two of three, and then waits to be killed. It writes a line for each
 * reservation and each settlement that the store has answered.
 */
import { RateLimiter } from 'headgate'
import { calendarWindow } from 'headgate/calendar'
import { redisStore } from 'headgate/redis'
import { sqliteStore } from 'headgate/sqlite'
import { Redis } from 'ioredis'
import Database from 'libsql'

const { port, path, anchor } = JSON.parse(process.argv[2])
const timeout = '10s'
const store = path
  ? sqliteStore({ database: new Database(path), timeout })
  : redisStore({ client: new Redis(port).on('error', () => {}), timeout })
const policies = calendarWindow({ limit: 100_000, every: 'year', anchor })
const limiter = new RateLimiter({ name: 'killed', policies, store, onStoreError: 'throw' })
for (let n = 0; n < 150; n++) {
  const reservation = await limiter.reserve('ann', { cost: 7, expires: '10m', onExpiry: 'give-back' })
  process.stdout.write('reserved 7\n')
  if (n % 3 === 0) continue
  await reservation.settle(n % 12)
  process.stdout.write(`settled ${n % 12}\n`)
}
process.stdout.write('ready\n')
setInterval(() => {}, 1000)
