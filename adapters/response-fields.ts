/* The fields of a Response of the fetch standard. */

/** Also for a Response of another realm, or of a package that stands in for the runtime's. */
export function isResponse(value: unknown): value is Response {
  return typeof value === 'object' && value !== null && 'headers' in value && 'status' in value
}

/** A response with immutable headers, such as a redirect or one of `fetch`, is copied. Its body is not read. */
export function withFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  try {
    setFields(response, fields)
    return response
  } catch {
    return isResponse(response) ? copyWithFields(response, fields) : response
  }
}

/** The response unchanged if there can be no copy: an upgrade, `Response.error()`, or a body that is already in use. */
function copyWithFields(response: Response, fields: Readonly<Record<string, string>>): Response {
  try {
    const copy = new Response(response.body, response)
    setFields(copy, fields)
    return copy
  } catch {
    return response
  }
}

/** Reads the headers only if there is a field: a server may make them when they are asked for. */
function setFields(response: Response, fields: Readonly<Record<string, string>>): void {
  let headers: Headers | undefined
  for (const name in fields) {
    headers ??= response.headers
    headers.set(name, fields[name] as string)
  }
}
