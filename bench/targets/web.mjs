import { requests } from './message.mjs'
import { servers } from './servers.mjs'

/*
 * Whole requests through the applications of `servers`, without sockets: the server's own listener gets messages of
 * node:http that no connection has brought.
 */

const headers = { host: 'localhost' }

async function requestsTo(server, addresses) {
  const made = await server
  const listener = typeof made === 'function' ? made : made.listeners('request')[0]
  return requests(addresses, (request, response) => {
    request.headers = headers
    request.rawHeaders = ['host', 'localhost']
    listener(request, response)
  })
}

/** The targets of a framework, as the suite takes them. `byHand` are left out: they stand in the other suite. */
export function webTargets(framework) {
  const targets = Object.entries(servers[framework]).filter(([target]) => !/by hand/.test(target))
  return Object.fromEntries(
    targets.map(([target, make]) => [
      target === 'alone' ? `${framework} alone` : target,
      (addresses, limit) => requestsTo(make(limit), addresses),
    ]),
  )
}
