/** True if a request asks for a WebSocket in place of a response. */
export function asksForWebSocket(headers: Headers | undefined): boolean {
  return headers?.get('upgrade')?.toLowerCase() === 'websocket'
}

/**
 * True if the connection was upgraded, such as to a WebSocket, so that there is no response. Hono returns an empty response with status
 * 200 on Bun and on Node, where status 101 is invalid.
 */
export function hasUpgraded({ status, body }: Response, headers: Headers | undefined): boolean {
  return status === 101 || (status === 200 && body === null && asksForWebSocket(headers))
}
