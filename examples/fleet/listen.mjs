import { Redis } from 'ioredis'
import { createApp } from './app.mjs'

const [redisPort, name] = process.argv.slice(2)
const client = new Redis(Number(redisPort))
client.on('error', (error) => console.error('redis', error))
const server = createApp(client, name).listen(0, '127.0.0.1', () => process.send(server.address().port))
process.once('disconnect', () => process.exit())
