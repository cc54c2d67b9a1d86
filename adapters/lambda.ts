import { endWorkDone } from '../src/http/held/index.ts'

/** The properties of an AWS event that `lambdaRequest` reads. Function URLs and HTTP APIs send version 2.0, REST APIs 1.0. */
export interface LambdaEvent {
  readonly body?: string | null | undefined
  readonly isBase64Encoded?: boolean | undefined
  readonly headers?: Readonly<Record<string, string | undefined>> | null | undefined
  readonly multiValueHeaders?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined
  readonly cookies?: readonly string[] | undefined
  readonly rawPath?: string | undefined
  readonly rawQueryString?: string | undefined
  readonly path?: string | undefined
  readonly httpMethod?: string | undefined
  readonly multiValueQueryStringParameters?: Readonly<Record<string, readonly string[] | undefined>> | null | undefined
  readonly requestContext?: {
    readonly domainName?: string | undefined
    readonly http?: { readonly method?: string | undefined; readonly sourceIp?: string | undefined } | undefined
    readonly identity?: { readonly sourceIp?: string | undefined } | undefined
  }
}

/** The result that a Lambda function returns to a Function URL or an API Gateway. */
export interface LambdaResult {
  statusCode: number
  headers: Record<string, string>
  /** The cookies to set, in a result for events of version 2.0. */
  cookies?: string[]
  /** The response fields that have several values, in a result for events of version 1.0. */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: boolean
}

/** The client's address, as AWS has seen it, for the option `address` of `rateLimit`. Undefined if the event has no address. */
export function lambdaAddress(event: LambdaEvent): string | undefined {
  const { http, identity } = event?.requestContext ?? {}
  const address: unknown = http?.sourceIp ?? identity?.sourceIp
  return typeof address === 'string' ? address : undefined
}

/** The Requests that replace invalid events, because no Request can be made from the data of such an event. */
const invalid = new WeakSet<Request>()

/** True if the Request replaces an invalid event. A limiter counts such a Request, and answers it with status 400. */
export function isInvalid(request: Request): boolean {
  return invalid.has(request)
}

/**
 * Makes a Request from an event of AWS. Never throws, whatever the client has sent. A header field or a cookie that a Request cannot
 * have, such as one with characters outside Latin-1, is left out. An event is invalid if a Request cannot have its method (`TRACE`,
 * `CONNECT`), or if the body is not in base64 although the event says so. For an invalid event, the Request is a GET without a body.
 * `rateLimit` counts this Request and answers it with status 400, so no wrapped handler gets it.
 *
 *     const limit = rateLimit('100/15m', { address: (_request, event) => lambdaAddress(event) })
 *     const limited = limit.wrap((_request, _event) => new Response('hello'))
 *     export const handler = async (event) => lambdaResult(await limited(lambdaRequest(event), event), event)
 */
export function lambdaRequest(payload: LambdaEvent): Request {
  const event = payload ?? {} // a direct invocation may have the payload null
  const method = textIn(event.requestContext?.http?.method ?? event.httpMethod ?? 'GET')
  const headers = headersOf(event)
  const url = urlOf(event, headers.get('host'))
  const hasBody = typeof event.body === 'string' && !/^(get|head)$/i.test(method)
  try {
    return new Request(url, hasBody ? { method, headers, body: bodyOf(event) } : { method, headers })
  } catch {
    const request = new Request(url, { headers })
    invalid.add(request)
    return request
  }
}

/** The URL of the event's request. Path and query are assigned as properties, so a client cannot change another part of the URL. */
function urlOf(event: LambdaEvent, host: string | null): URL {
  const named = [host, event.requestContext?.domainName].find(isHost)
  const url = new URL(`https://${named ?? 'localhost'}`)
  url.pathname = textIn(event.rawPath ?? event.path ?? '/')
  url.search = queryOf(event)
  return url
}

/** True for a text that is only a host, with or without a port. The URL of a Request cannot have a user or a password. */
function isHost(text: string | null | undefined): text is string {
  const url = typeof text === 'string' && URL.canParse(`https://${text}`) ? new URL(`https://${text}`) : undefined
  return url !== undefined && url.href === `https://${url.host}/`
}

function bodyOf({ body, isBase64Encoded }: LambdaEvent): string | Uint8Array<ArrayBuffer> {
  return isBase64Encoded ? Uint8Array.from(atob(body ?? ''), (letter) => letter.charCodeAt(0)) : (body ?? '')
}

function headersOf({ headers, multiValueHeaders, cookies }: LambdaEvent): Headers {
  const all = new Headers()
  for (const [name, values] of Object.entries(multiValueHeaders ?? {})) {
    for (const value of listOf(values)) append(all, name, value)
  }
  const several = new Set(all.keys())
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (!several.has(name.toLowerCase())) append(all, name, value)
  }
  const held = listOf(cookies).filter((cookie) => append(new Headers(), 'cookie', cookie))
  if (held.length > 0) all.set('cookie', held.join('; '))
  return all
}

/** The values as a list. In an event that a developer wrote by hand, one text may replace a list. */
function listOf(values: readonly string[] | string | null | undefined): readonly string[] {
  return [values ?? []].flat()
}

/** The text of a value in an event that may contain anything. An object has no text: its `toString` may be anything too. */
function textIn(value: unknown): string {
  return Object(value) === value ? '' : String(value)
}

/** Appends a header field. Returns false, and leaves the field out, if a Request cannot have the field. */
function append(headers: Headers, name: string, value: string | undefined | null): boolean {
  if (typeof value !== 'string') return false
  try {
    headers.append(name, value)
    return true
  } catch {
    return false
  }
}

function queryOf({ rawQueryString, multiValueQueryStringParameters }: LambdaEvent): string {
  if (rawQueryString !== undefined) return textIn(rawQueryString ?? '')
  const parameters = new URLSearchParams()
  for (const [name, values] of Object.entries(multiValueQueryStringParameters ?? {})) {
    for (const value of listOf(values)) parameters.append(name, textIn(value))
  }
  return parameters.toString()
}

/**
 * The result that a Lambda function returns for this Response, in the format of the event's version. Reads the complete body. A body is
 * returned as text if the body is UTF-8, has no content encoding, and is text, JSON, XML or JavaScript by its content type, or has no
 * content type. Any other body is returned in base64. Resolves after the store knows that the request has ended.
 */
export async function lambdaResult(response: Response, event?: LambdaEvent): Promise<LambdaResult> {
  // Lambda freezes the process after the result, or after an error.
  const bytes = new Uint8Array(await response.arrayBuffer().finally(endWorkDone))
  const { headers, status } = response
  const isText = /^(text\/|application\/(.*\+)?(json|xml|javascript))/.test(headers.get('content-type') ?? 'text/')
  const text = isText && !headers.has('content-encoding') ? textOf(bytes) : undefined
  const cookies = headers.getSetCookie()
  const others = Object.fromEntries([...headers].filter(([name]) => name !== 'set-cookie'))
  return {
    statusCode: status,
    headers: others,
    ...(cookies.length > 0 && cookieFields(cookies, event)),
    body: text ?? base64(bytes),
    isBase64Encoded: text === undefined,
  }
}

/** The text of these bytes. Undefined if the bytes are no UTF-8. */
function textOf(bytes: Uint8Array): string | undefined {
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  } catch {
    return undefined
  }
}

function base64(bytes: Uint8Array): string {
  let letters = ''
  for (const byte of bytes) letters += String.fromCharCode(byte)
  return btoa(letters)
}

function cookieFields(cookies: string[], event: LambdaEvent | undefined): Partial<LambdaResult> {
  return event?.httpMethod === undefined ? { cookies } : { multiValueHeaders: { 'set-cookie': cookies } }
}
