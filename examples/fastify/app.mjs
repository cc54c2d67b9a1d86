import fastify from 'fastify'
import { rateLimit } from 'headgate/fastify'

export async function createApp() {
  const app = fastify()
  await app.register(rateLimit('100/15m'))

  app.get('/', async (request) => ({ hello: 'world', left: request.rateLimit.remaining }))

  // A limit of its own in place of the global one: five attempts, then one a minute.
  app.post('/login', { config: { rateLimit: '1/1m burst 5' } }, async () => ({ welcome: true }))

  // No limit at all.
  app.get('/health', { config: { rateLimit: false } }, async () => ({ ok: true }))
  return app
}
