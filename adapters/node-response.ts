import type { ServerResponse } from 'node:http'
import type { Http2ServerResponse } from 'node:http2'
import { hasLeft, whenEnded } from '../src/http/held/index.ts'
import type { Framework } from '../src/http/index.ts'

/** A response of node:http, or of node:http2 in its compatibility API. */
export type NodeResponse = ServerResponse | Http2ServerResponse

type ResponseParts =
  | 'headersSent'
  | 'complete'
  | 'ended'
  | 'left'
  | 'setHeader'
  | 'responseHeader'
  | 'setStatus'
  | 'ownStatus'
  | 'clearRefusal'
  | 'send'

/**
 * The functions by which the guard (code for all frameworks) reads and changes Node's response, for frameworks that use Node's response
 * unchanged.
 */
export const nodeResponse: Required<Pick<Framework<never, NodeResponse>, ResponseParts>> = {
  headersSent: (response) => response.headersSent,
  complete: (response) => response.writableEnded,
  ended: (response, done) => whenEnded(response as ServerResponse, done),
  left: (response) => hasLeft(response as ServerResponse),
  setHeader: (response, name, value) => void response.setHeader(name, value),
  responseHeader: (response, name) => response.getHeader(name)?.toString(),
  setStatus(response, status) {
    response.statusCode = status
  },
  ownStatus: ({ statusCode }) => statusCode,
  clearRefusal(response) {
    response.statusCode = 200
    response.removeHeader('Retry-After')
    response.removeHeader('Cache-Control')
  },
  send(response, type, body) {
    // Other code may have set fields that describe the body of an admitted request.
    const isHead = response.req?.method === 'HEAD' // a server may throw on a body in answer to HEAD
    if (isHead || response.hasHeader('Content-Length')) response.setHeader('Content-Length', Buffer.byteLength(body))
    for (const name of ['Content-Encoding', 'ETag']) if (response.hasHeader(name)) response.removeHeader(name)
    response.setHeader('Content-Type', type)
    if (isHead) response.end()
    else response.end(body)
  },
}
