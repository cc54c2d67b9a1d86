import { Redis } from 'ioredis'
import { createClient } from 'redis'
import type { RedisClient } from '../../src/stores/redis/index.ts'

/** A connected client of `'ioredis'` or `'node-redis'`, and how to close it. */
export async function connectRedis(library: string, port: number): Promise<{ client: RedisClient; close: () => void }> {
  if (library === 'ioredis') {
    const client = new Redis(port)
    client.on('error', () => undefined)
    return { client, close: () => client.disconnect() }
  }
  const client = createClient({ socket: { port } })
  client.on('error', () => undefined)
  await client.connect()
  return { client: client as RedisClient, close: () => void (client.isOpen && client.destroy()) }
}
