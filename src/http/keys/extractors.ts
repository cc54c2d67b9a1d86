import { parse } from 'cookie'
import { HeadgateError, shown, warnOnce } from '../../common/index.ts'
import { proxyFields, trustFix } from './by-ip.ts'
import { type KeyExtractor, tokenPattern } from './key-extractor.ts'

/**
 * Limits by a request header, such as an API key. A request without the header is limited by the client's address.
 *
 *     rateLimit({ limit: 1000, window: '1h', keys: byHeader('x-api-key') })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if the name cannot be the name of a header
 */
export function byHeader(name: string): KeyExtractor {
  const valid = typeof name === 'string' && tokenPattern.test(name)
  checkName(valid, 'byHeader', 'header name', name, `byHeader('x-api-key')`)
  const lower = name.toLowerCase()
  if (proxyFields.includes(lower)) {
    const fault = `byHeader('${lower}') limits by a text that clients can write, so a client gets a new quota with each text.`
    warnOnce('HEADGATE_FORWARDED', `${fault} ${trustFix(lower)}`, lower)
  }
  return (request, view) => view.header(request, lower)
}

/**
 * Limits by a cookie. The cookie is read exactly as the application reads it: as Koa and Hono do, from `request.cookies` in Express,
 * Fastify, Next.js and Bun, from `event.cookies` in SvelteKit, or else as packages for cookies do. Otherwise a client could write a cookie
 * that the limiter and the application read differently, and get a new quota for each request of one session. A request without the cookie
 * is limited by the client's address. So is a request whose cookie packages read in different ways, and a request of another fetch handler
 * that has two cookies of the name, or a cookie that was encoded twice.
 *
 *     rateLimit({ policies: '5/1m sliding-log', keys: byCookie('session') })
 *
 * @throws HeadgateError `HEADGATE_OPTION` if the name cannot be the name of a cookie
 */
export function byCookie(name: string): KeyExtractor {
  checkName(typeof name === 'string' && tokenPattern.test(name), 'byCookie', 'cookie name', name, `byCookie('session')`)
  return (request, view) => {
    const value =
      view.cookie === undefined
        ? cookieOf(request as ParsedCookies, view.header(request, 'cookie'), name)
        : view.cookie(request, name)
    return value && withoutQuotes(value)
  }
}

/** The cookies that middleware such as cookie-parser has read. */
interface ParsedCookies {
  readonly cookies?: Readonly<Record<string, unknown>> | undefined
  readonly signedCookies?: Readonly<Record<string, unknown>> | undefined
}

/**
 * A cookie as the application reads it: as middleware has read it, or else as packages for cookies do. A number or a list of texts,
 * as cookie-parser makes of JSON, is the text that JavaScript converts it to. Undefined for any other value.
 */
export function cookieOf(request: ParsedCookies, header: string | undefined, name: string): string | undefined {
  const { cookies, signedCookies } = request
  if (typeof cookies !== 'object' || cookies === null) return header === undefined ? undefined : cookieIn(header, name)
  const value = [cookies, signedCookies].find((all) => all && Object.hasOwn(all, name))?.[name]
  const isText = (each: unknown) => typeof each === 'string' || typeof each === 'number'
  return isText(value) || (Array.isArray(value) && value.every(isText)) ? String(value) : undefined
}

/**
 * A cookie of the header as each package reads it. Undefined for a cookie that packages read in different ways, because the application
 * could read one value, and the limit another.
 * @param isStrict true for a fetch handler, where a cookie is no cookie if it was sent twice, or if it has an escape such as `%61` after it
 *   was decoded: Elysia decodes a cookie twice
 */
export function cookieIn(header: string, name: string, isStrict = false): string | undefined {
  const [sent, another] = header
    .split(';')
    .filter((pair) => pair.includes('=') && pair.split('=', 1)[0]?.trim() === name)
  if (sent === undefined || (isStrict && another !== undefined)) return undefined
  const value = isPlain(parse(sent, { decode: (raw) => raw })[name]) ? parse(sent)[name] : undefined
  return isStrict && /%[\da-f]{2}/i.test(value ?? '') ? undefined : value
}

/** False if a quote or a rare blank is at one end of the value: some packages remove it, and the other end with it. */
function isPlain(raw = ''): boolean {
  return raw.trim() === raw && raw.startsWith('"') === raw.endsWith('"')
}

const quote = 34

/** Removes the quotes around a cookie's value. Some versions of the package `cookie` leave these quotes in the value. */
function withoutQuotes(value: string): string {
  let start = 0
  let end = value.length
  while (value.charCodeAt(start) === quote) start++
  while (end > start && value.charCodeAt(end - 1) === quote) end--
  return value.slice(start, end)
}

/**
 * Limits by a parameter of the route that matched, such as `id` in `/users/:id`. If no route has matched yet, the request is
 * limited by the client's address.
 *
 *     app.get('/users/:id', rateLimit({ policies: '5/1m sliding-log', keys: byParam('id') }), handler)
 *
 * @throws HeadgateError `HEADGATE_OPTION` if the name is empty
 */
export function byParam(name: string): KeyExtractor {
  const valid = typeof name === 'string' && name !== ''
  checkName(valid, 'byParam', 'parameter name', name, `byParam('id') for the route /users/:id`)
  return (request, view) => view.param(request, name)
}

/**
 * Limits by the methods and the pattern of the route that matched, such as `GET /users/:id` or `* /reports`. So each route of the
 * application has its own quota. HEAD counts as GET. If no route has matched yet, the key is `* *`, because the key must not
 * contain text that a client chose, such as the method or the path. So in Express, add the middleware to the routes. In
 * `app.use`, `byRoute` gives a warning.
 *
 *     const limit = rateLimit({ policies: '5/1m sliding-log', keys: combine(byIp(), byRoute()) })
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

/** Checks the name of a header, a cookie or a parameter. @throws HeadgateError `HEADGATE_OPTION` if `valid` is false */
function checkName(valid: boolean, extractor: string, kind: string, name: unknown, example: string): void {
  if (valid) return
  throw new HeadgateError('HEADGATE_OPTION', `${extractor} takes a ${kind}, got ${shown(name)}. Write ${example}.`)
}
