import { IncomingMessage, ServerResponse } from 'node:http'
import { rateLimit } from '../dist/adapters/express.js'
import { slidingWindow } from '../dist/src/index.js'

/*
 * What a middleware adds to a request: the request and response objects are those of node:http, the application's
 * settings those of Express without a proxy. Sockets are left out, which cost many times more and hide the difference.
 */

const open = { limit: 1_000_000_000, window: '1h' }
const app = { settings: { 'trust proxy': false } }

/** @param handle what is done with each request; the floor does nothing */
function requests(address, handle) {
  /** @type {any} */
  const socket = { remoteAddress: address }
  let passed = 0
  const next = () => {
    passed++
  }
  return (n) => {
    for (let i = 0; i < n; i++) {
      /** @type {any} */
      const request = new IncomingMessage(socket)
      const response = new ServerResponse(request)
      request.app = app
      handle(request, response, next)
    }
    return passed
  }
}

function byHand(_request, response, next) {
  response.setHeader('X-RateLimit-Limit', '1000000000')
  response.setHeader('X-RateLimit-Remaining', '999999999')
  response.setHeader('X-RateLimit-Reset', '1800000000')
  next()
}

const limited = (address, headers) => () => requests(address, rateLimit({ policies: slidingWindow(open), headers }))

export const bareRequest = 'request and response alone'

export const expressTargets = {
  [bareRequest]: () => requests('203.0.113.7', (_request, _response, next) => next()),
  'three headers by hand': () => requests('203.0.113.7', byHand),
  'rateLimit, IPv4': limited('203.0.113.7', 'legacy'),
  'rateLimit, IPv6': limited('2001:db8:0:1ff:3:4:5:6', 'legacy'),
  'rateLimit, ::ffff: IPv4': limited('::ffff:203.0.113.7', 'legacy'),
  'rateLimit, draft-11': limited('203.0.113.7', 'draft-11'),
}
