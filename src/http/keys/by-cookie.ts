import { parse } from 'cookie'
import { checkName } from './extractors.ts'
import { type KeyExtractor, type RequestView, tokenPattern } from './key-extractor.ts'

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

/** Without the quotes at both ends: versions of the package disagree whether they are part of the value. */
function withoutQuotes(value: string): string {
  let start = 0
  let end = value.length
  while (value.charCodeAt(start) === quote) start++
  while (end > start && value.charCodeAt(end - 1) === quote) end--
  return value.slice(start, end)
}
