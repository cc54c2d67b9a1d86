import { EventEmitter } from 'node:events'
import { type Framework, hasLeft, routeName, whenEnded } from '../../src/http.ts'
import type { RequestDecision } from '../../src/index.ts'

/** A request of a minimal framework. */
export interface PlainRequest {
  readonly address?: string
  readonly headers?: Readonly<Record<string, string>>
  decision?: RequestDecision
}

/** A response that keeps what is sent. */
export class PlainResponse extends EventEmitter {
  statusCode = 200
  body: string | undefined
  readonly headers: Record<string, string> = {}
  destroyed = false

  get writableFinished(): boolean {
    return this.body !== undefined
  }

  end(body: string): void {
    this.body = body
    this.emit('finish')
  }
}

/** A framework without a server, as the author of an adapter would describe it to `headgate/http`. */
export const plainFramework: Framework<PlainRequest, PlainResponse> = {
  address: ({ address }) => address,
  peer: ({ address }) => address,
  trustsProxy: () => false,
  param: () => undefined,
  header: ({ headers }, name) => headers?.[name],
  route: () => routeName('GET', '/'),
  attach(request, _response, decision) {
    request.decision = decision
  },
  headersSent: ({ body }) => body !== undefined,
  complete: ({ body }) => body !== undefined,
  ended: whenEnded,
  left: hasLeft,
  setHeader({ headers }, name, value) {
    headers[name] = value
  },
  setStatus(response, status) {
    response.statusCode = status
  },
  send(response, type, body) {
    response.headers['Content-Type'] = type
    response.end(body)
  },
}
