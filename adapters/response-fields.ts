/* Sets header fields on a Response of the fetch standard. */

/**
 * The status of a response.
 * @param sent the status on the response of node:http. A handler of Hono may have sent it, and then returns `RESPONSE_ALREADY_SENT`
 */
export function statusOf(response: Response | undefined, sent: number): number {
  return response?.headers?.has('x-hono-already-sent') !== false ? sent : response.status
}

/** True for a Response, even if the Response comes from another realm, or from a package with its own Response class. */
export function isResponse(value: unknown): value is Response {
  return typeof value === 'object' && value !== null && 'headers' in value && 'status' in value
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
 * A copy with this body. Deno's `fetch` decodes a body, and keeps the fields of the encoded body until Deno sends the response. Deno sends a
 * copy with all its fields, so these fields are removed.
 */
export function copyWithBody(response: Response, body: ReadableStream | null): Response {
  const copy = new Response(body, response)
  const decodes = 'Deno' in globalThis && response.url !== '' && body !== null
  if (decodes && /^(?:gzip|br)$/i.test(copy.headers.get('content-encoding') ?? '')) {
    copy.headers.delete('content-encoding')
    copy.headers.delete('content-length')
  }
  return copy
}

/** Sets fields on a response. Reads `headers` only if there are fields to set, because a server may create `headers` at the first read. */
function setFields(response: Response, fields: Readonly<Record<string, string>>): void {
  let headers: Headers | undefined
  for (const name in fields) {
    headers ??= response.headers
    headers.set(name, fields[name] as string)
  }
}
