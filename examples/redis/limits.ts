import { redisStore } from 'headgate/redis'
import { Redis } from 'ioredis'

export const client = new Redis(process.env.REDIS_URL ?? 'redis://127.0.0.1')
client.on('error', (error) => console.error('redis', error.message))

/** One limit for all processes, which all pass this name. */
export const limits = { name: 'api', policies: ['10/1s burst 20', '1000/1h'], store: redisStore({ client }) }
