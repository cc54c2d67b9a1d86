import { parse } from 'cookie'
import { HeadgateError, shown, warnOnce } from '../../common/index.ts'
import { type KeyExtractor, type RequestView, tokenPattern } from './key-extractor.ts'

/**
 * By a request header, such as an API key. A request without it is limited by its address.
 *
 *     rateLimit({ limit: 1000, window: '1h', keys: byHeader('x-api-key') })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if the name cannot be the name of a header
 */
export function byHeader(name: string): KeyExtractor {
  const valid = typeof name === 'string' && tokenPattern.test(name)
  checkName(valid, 'byHeader', 'header name', name, `byHeader('x-api-key')`)
  const lower = name.toLowerCase()
  return (request, view) => view.header(request, lower)
}

/**
 * By a cookie of the request, as the application reads it: as Koa does, and elsewhere as the package `cookie` does, which
 * Express and Fastify use. A client that could make the two read different cookies would have a new quota for each
 * request of one session. A request without the cookie is limited by its address.
 *
 *     rateLimit({ limit: 5, window: '1m', keys: byCookie('session') })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if the name cannot be the name of a cookie
 */
export function byCookie(name: string): KeyExtractor {
  checkName(typeof name === 'string' && tokenPattern.test(name), 'byCookie', 'cookie name', name, `byCookie('session')`)
  return (request, view) => {
    const value = view.cookie === undefined ? parsed(request, view, name) : view.cookie(request, name)
    return value && withoutQuotes(value)
  }
}

function parsed<Request>(request: Request, view: RequestView<Request>, name: string): string | undefined {
  const header = view.header(request, 'cookie')
  return header === undefined ? undefined : parse(header)[name]
}

const quote = 34

/** A cookie's value without the quotes at both ends, which some versions of the package `cookie` leave in the value. */
function withoutQuotes(value: string): string {
  let start = 0
  let end = value.length
  while (value.charCodeAt(start) === quote) start++
  while (end > start && value.charCodeAt(end - 1) === quote) end--
  return value.slice(start, end)
}

/**
 * By a parameter of the route that matched: `id` of `/users/:id`. Before a route has matched, by address.
 *
 *     app.get('/users/:id', rateLimit({ limit: 5, window: '1m', keys: byParam('id') }), handler)
 *
 * @throws HeadgateError `HEADGATE_OPTION` if the name is empty
 */
export function byParam(name: string): KeyExtractor {
  const valid = typeof name === 'string' && name !== ''
  checkName(valid, 'byParam', 'parameter name', name, `byParam('id') for the route /users/:id`)
  return (request, view) => view.param(request, name)
}

/**
 * By the methods and the pattern of the route (`GET /users/:id`, `* /reports`), so that each route that the application
 * declares has its own quota. HEAD counts as GET. Before a route has matched, the key is `* *`: the key never holds a
 * method, a path or any other text that a client chose. So in Express, put the middleware on the routes. In `app.use`, the
 * extractor gives a warning.
 *
 *     const limit = rateLimit({ limit: 5, window: '1m', keys: combine(byIp(), byRoute()) })
 *     app.get('/users/:id', limit, handler)
 *     app.get('/search', limit, handler) // another 5 a minute
 */
export function byRoute(): KeyExtractor {
  return (request, view) => {
    const route = view.route(request)
    if (route.endsWith(' *')) warnOfNoRoute(route)
    return route
  }
}

function warnOfNoRoute(route: string): void {
  warnOnce(
    'HEADGATE_ROUTE',
    `byRoute found no route, so all requests of this kind share the quota of ${shown(route)}. No route has matched yet where ` +
      "the middleware stands. Put it on the routes. Express: app.get('/users/:id', limit, handler) in place of app.use(limit). " +
      "Koa: router.use(limit) or router.get('/users/:id', limit, handler) in place of app.use(limit).",
  )
}

/** @throws HeadgateError `HEADGATE_OPTION` unless the name is valid */
function checkName(valid: boolean, extractor: string, kind: string, name: unknown, example: string): void {
  if (valid) return
  throw new HeadgateError('HEADGATE_OPTION', `${extractor} takes a ${kind}, got ${shown(name)}. Write ${example}.`)
}
