/* Sets header fields on a Response of the fetch standard. */

/**
 * The status of a response.
 * @param sent the status on the response of node:http. A handler of Hono may have sent it, and then returns `RESPONSE_ALREADY_SENT`
 */
export function statusOf(response: Response | undefined, sent: number): number {
  try {
    return response?.headers?.has('x-hono-already-sent') !== false ? sent : response.status
  } catch {
    return sent // below 1.14.2, @hono/node-server cannot read a Response whose body it has read
  }
}

/** True for a Response, even if the Response comes from another realm, or from a package with its own Response class. */
export function isResponse(value: unknown): value is Response {
  return typeof value === 'object' && value !== null && 'headers' in value && 'status' in value
}

/** A response that keeps its status and its headers: srvx empties a `FastResponse`, such as those of h3, when it sends the response. */
export function lasting(response: Response): Response {
  const isEmptied = '_toNodeResponse' in response && response.status >= 200 && isStatus(response.status)
  return isEmptied ? new Response(null, { status: response.status, headers: response.headers }) : response
}

/** True for a valid status. False for the status 0 of `Response.error()`, and for undefined (there is no Response). */
export function isStatus(status: unknown): status is number {
  return typeof status === 'number' && status >= 100 && status < 600
}

/** True for `NextResponse.next()` and `NextResponse.rewrite()`: a route makes the real response later. False without a Response. */
export function passesOn({ headers }: Partial<Response>): boolean {
  return headers?.has?.('x-middleware-next') || headers?.has?.('x-middleware-rewrite') || false
}

/**
 * Returns the response with these fields added. A response with immutable headers, such as a result of `fetch`, is copied. Copying the
 * response does not read the body.
 */
export function withFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  try {
    setFields(response, fields)
    return response
  } catch {
    return isResponse(response) ? copyWithFields(response, fields) : response
  }
}

/**
 * A copy with these fields. If the response cannot be copied (after an upgrade to WebSocket, or because its body is being read),
 * returns the response unchanged.
 */
function copyWithFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  try {
    const copy = copyWithBody(response, response.body)
    setFields(copy, fields)
    return copy
  } catch {
    return response
  }
}

/**
 * A copy with this body. Deno's `fetch` decodes most bodies, and Deno then sends no fields of the encoded body. A copy has lost what Deno knows
 * of this, so the fields are removed.
 */
export function copyWithBody(response: Response, body: ReadableStream | null): Response {
  const copy = new Response(body, response)
  if (isDecoded(response)) for (const name of ['content-encoding', 'content-length']) copy.headers.delete(name)
  return copy
}

/** True if Deno's `fetch` has decoded the body. Deno does not tell, except by an object in the response. */
function isDecoded(response: Response): boolean {
  const inner = Object.getOwnPropertySymbols(response).find(({ description }) => description === 'response')
  const { bodyDecoded } = (inner && (response as never)[inner]) ?? ({} as { bodyDecoded?: unknown })
  return bodyDecoded === true
}

/** Sets fields on a response. Reads `headers` only if there are fields to set, because a server may create `headers` at the first read. */
function setFields(response: Response, fields: Readonly<Record<string, string>>): void {
  let headers: Headers | undefined
  for (const name in fields) {
    headers ??= response.headers
    headers.set(name, fields[name] as string)
  }
}
