/*
 * What the functions in the options do with requests and responses, in the way of each framework.
 */

interface AnyRequest {
  query?: Record<string, string>
  req?: { query?: (name: string) => string | undefined; url?: string }
  request?: { url: string }
  url?: string | URL
}

/** A parameter of the query, by the framework's own request. */
export function queryOf(request: unknown, name: string): string | undefined {
  const { query, req, request: fetched, url } = request as AnyRequest
  if (typeof req?.query === 'function') return req.query(name)
  if (query !== undefined) return query[name]
  return new URL(fetched?.url ?? url ?? '/', 'http://a').searchParams.get(name) ?? undefined
}

type AnyHeaders = { get?: (name: string) => string | null } & Record<string, unknown>

interface Headed {
  headers?: AnyHeaders
  request?: { headers: AnyHeaders }
  req?: { headers?: AnyHeaders; raw?: { headers: AnyHeaders } }
}

/** A field of the request, by the framework's own request. */
export function headerOf(request: unknown, name: string): string | undefined {
  const { headers: own, request: fetched, req } = request as Headed
  const headers = own ?? fetched?.headers ?? req?.headers ?? req?.raw?.headers
  if (typeof headers?.get === 'function') return headers.get(name) ?? undefined
  return headers?.[name]?.toString()
}

interface AnyResponse {
  send?: (body: string) => unknown
  end?: (body: string) => unknown
  text?: (body: string) => unknown
  onerror?: unknown
  body?: unknown
}

/** Responds with a text, by the framework's own response. What it returns, `refuse` has to return. */
export function respond(response: unknown, body: string): unknown {
  const any = response as AnyResponse
  if (any.send) return void any.send(body)
  if (any.end) return void any.end(body)
  if (any.text) return any.text(body)
  if (!any.onerror) return body
  any.body = body
  return undefined
}

interface AnyEnded {
  statusCode?: number
  status?: number
  res?: { status?: number; statusCode?: number }
  response?: { status: number }
}

/** The status of a response that has ended. */
export function statusOf(response: unknown): number | undefined {
  const { statusCode, status, res, response: fetched } = response as AnyEnded
  if (typeof statusCode === 'number') return statusCode
  return typeof status === 'number' ? status : (fetched?.status ?? res?.status)
}
