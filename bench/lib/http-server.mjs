// A server in a process of its own: node http-server.mjs <framework> <target> <limit>. Sends its port, then its CPU time.
import { once } from 'node:events'
import { servers } from '../targets/servers.mjs'

const [framework, target, limit] = process.argv.slice(2)
const server = await servers[framework][target](Number(limit))
server.listen(0, '127.0.0.1')
await once(server, 'listening')
process.on('message', () => process.send?.(process.cpuUsage()))
process.on('disconnect', () => process.exit(0))
process.send?.({ port: server.address().port })
