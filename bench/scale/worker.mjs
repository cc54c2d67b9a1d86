// One process of the fleet. It gets its part of the load, and sends what it has seen.
import { once } from 'node:events'
import { RateLimiter } from 'headgate'
import { redisStore } from 'headgate/redis'
import { shareStore } from 'headgate/shares'
import { Redis } from 'ioredis'

const { port, mode, policy, times, key } = JSON.parse(process.argv[2])
const client = new Redis(port, '127.0.0.1')
const { shares, ...options } = mode
const exact = redisStore({ client, timeout: '5s', ...options })
const store = shares === undefined ? exact : shareStore({ store: exact, ...shares })
const limiter = new RateLimiter({ name: 'scale', policies: policy, store, onStoreError: 'throw' })
await limiter.consume('warm-up')

const admitted = []
const waits = []
let refused = 0

async function request() {
  const began = performance.now()
  const { allowed } = await limiter.consume(key)
  waits.push(performance.now() - began)
  if (allowed) admitted.push(Date.now())
  else refused++
}

process.send('ready')
const [start] = await once(process, 'message')
const pending = []
let next = 0
const timer = setInterval(async () => {
  const now = Date.now() - start
  while (next < times.length && times[next] <= now) {
    next++
    pending.push(request())
  }
  if (next < times.length) return
  clearInterval(timer)
  await Promise.all(pending)
  waits.sort((a, b) => a - b)
  process.send({ admitted, refused, p99: waits[Math.floor(waits.length * 0.99)] })
}, 2)
