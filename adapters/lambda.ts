/** The part of an event of AWS that is read: of a Function URL, an HTTP API (version 2.0) or a REST API (version 1.0). */
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

/** What a function returns to a Function URL or an API Gateway. */
export interface LambdaResult {
  statusCode: number
  headers: Record<string, string>
  /** For events of version 2.0. */
  cookies?: string[]
  /** For events of version 1.0. */
  multiValueHeaders?: Record<string, string[]>
  body: string
  isBase64Encoded: boolean
}

/** The address that AWS saw the client connect from. For the option `address`. */
export function lambdaAddress({ requestContext }: LambdaEvent): string | undefined {
  return requestContext?.http?.sourceIp ?? requestContext?.identity?.sourceIp
}

/**
 * The Request of an event.
 *
 *     const limit = rateLimit('100/15m', { address: (_request, event) => lambdaAddress(event) })
 *     const limited = limit.wrap((_request, _event) => new Response('hello'))
 *     export const handler = async (event) => lambdaResult(await limited(lambdaRequest(event), event), event)
 */
export function lambdaRequest(event: LambdaEvent): Request {
  const method = event.requestContext?.http?.method ?? event.httpMethod ?? 'GET'
  const headers = headersOf(event)
  const host = headers.get('host') ?? event.requestContext?.domainName ?? 'localhost'
  const query = queryOf(event)
  // Assigned, so that no path and no host can become another part of the URL.
  const url = new URL(URL.canParse(`https://${host}`) ? `https://${host}` : 'https://localhost')
  url.pathname = event.rawPath ?? event.path ?? '/'
  url.search = query
  const hasBody = typeof event.body === 'string' && method !== 'GET' && method !== 'HEAD'
  return new Request(url, hasBody ? { method, headers, body: bodyOf(event) } : { method, headers })
}

function bodyOf({ body, isBase64Encoded }: LambdaEvent): string | Uint8Array<ArrayBuffer> {
  return isBase64Encoded ? Uint8Array.from(atob(body ?? ''), (letter) => letter.charCodeAt(0)) : (body ?? '')
}

function headersOf({ headers, multiValueHeaders, cookies }: LambdaEvent): Headers {
  const all = new Headers()
  for (const [name, values] of Object.entries(multiValueHeaders ?? {})) {
    for (const value of values ?? []) all.append(name, value)
  }
  for (const [name, value] of Object.entries(headers ?? {})) {
    if (value !== undefined && !all.has(name)) all.set(name, value)
  }
  if (cookies !== undefined) all.set('cookie', cookies.join('; '))
  return all
}

function queryOf({ rawQueryString, multiValueQueryStringParameters }: LambdaEvent): string {
  if (rawQueryString !== undefined) return rawQueryString
  const parameters = new URLSearchParams()
  for (const [name, values] of Object.entries(multiValueQueryStringParameters ?? {})) {
    for (const value of values ?? []) parameters.append(name, value)
  }
  return parameters.toString()
}

/** The result of a Response, in the form that fits the event. Its body is read to the end, and text stays text. */
export async function lambdaResult(response: Response, event?: LambdaEvent): Promise<LambdaResult> {
  const bytes = new Uint8Array(await response.arrayBuffer())
  const { headers, status } = response
  const isText = /^(text\/|application\/(.*\+)?(json|xml|javascript))/.test(headers.get('content-type') ?? 'text/')
  const isBase64Encoded = !isText || headers.has('content-encoding')
  const cookies = headers.getSetCookie()
  const others = Object.fromEntries([...headers].filter(([name]) => name !== 'set-cookie'))
  return {
    statusCode: status,
    headers: others,
    ...(cookies.length > 0 && cookieFields(cookies, event)),
    body: isBase64Encoded ? base64(bytes) : new TextDecoder().decode(bytes),
    isBase64Encoded,
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
