import express from 'express'
import { byHeader, memoryStore } from 'headgate'
import { rateLimit } from 'headgate/express'

/** The limits of the demo, each on a route of its own. They are printed at the start and in every response. */
export const routes = [
  { path: '/', what: '10 in 10 seconds by address', policies: '10/10s' },
  { path: '/burst', what: 'one every 2 seconds, 5 at once', policies: '1/2s burst 5' },
  { path: '/login', what: '3 a minute, exactly', policies: '3/1m sliding-log' },
  {
    path: '/key',
    what: '5 in 30 seconds for each X-Api-Key',
    policies: '5/30s sliding-log',
    keys: byHeader('x-api-key'),
    headers: /** @type {const} */ ('draft-11'),
  },
]

/** @param store the store of all limits. Default: the memory of this process */
export function createApp(store = memoryStore()) {
  const app = express().disable('x-powered-by')
  for (const { path, what, ...options } of routes) {
    const limit = rateLimit({ name: path === '/' ? 'home' : path.slice(1), ...options, store })
    app.get(path, limit, ({ rateLimit: { remaining, resetAfter } }, response) => {
      response.type('text').send(`${what}: ${remaining} left, full quota in ${resetAfter} ms\n`)
    })
  }
  return app
}
