import fastify from 'fastify'
import { rateLimit } from 'headgate/fastify'
import { limits } from './limits.ts'

export const app = fastify({ trustProxy: '127.0.0.1' }) // the address of the proxy in front
await app.register(rateLimit(limits))
app.get('/', async (request) => ({ left: request.rateLimit.remaining }))
