import { Redis } from 'ioredis'
import { afterAll } from 'vitest'
import { type RedisServer, startRedis } from './redis-server.ts'

interface Stoppable {
  stop(): unknown
}

/** A server for the tests of one file. It stops after the tests, and after every `afterAll` that was added later. */
export async function useServer<Server extends Stoppable>(starting: Promise<Server>): Promise<Server> {
  const server = await starting
  afterAll(async () => {
    await server.stop()
  })
  return server
}

/** A redis-server for the tests of one file, with a client. */
export async function useRedis(): Promise<{ server: RedisServer; client: Redis }> {
  const server = await useServer(startRedis())
  const client = new Redis(server.port)
  afterAll(() => client.disconnect())
  return { server, client }
}
