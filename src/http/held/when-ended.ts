/** The part of a socket that `whenEnded` uses. */
interface EndingSocket {
  readonly destroyed: boolean
  /** The error that has ended the socket. Null if there was none. */
  readonly errored?: Error | null
  readonly bytesWritten?: number
  /** How many bytes wait to be written. */
  readonly writableFinished?: boolean
  once(event: 'close', listener: () => void): unknown
}

/** The part of a stream of node:http2 that `whenEnded` uses. */
interface EndingStream {
  readonly closed: boolean
  readonly headersSent: boolean
  readonly writableFinished: boolean
  readonly aborted: boolean
  readonly destroyed: boolean
  readonly sentHeaders?: object | undefined
  /** The code with which the stream was reset. 0 if the stream was not reset. */
  readonly rstCode?: number | undefined
  readonly readableEnded: boolean
  once(event: 'close' | 'finish', listener: () => void): unknown
}

/** The part of a response that `whenEnded` uses. The response is of node:http, or of node:http2 in its compatibility API. */
export interface EndingResponse {
  /** `whenEnded` sets the status that was sent, if the application has set another status after that. */
  statusCode: number
  readonly writableFinished: boolean
  readonly destroyed: boolean
  /** The stream of a response in HTTP/2. Undefined in HTTP/1.1. */
  readonly stream?: EndingStream | undefined
  /** The socket of a response in HTTP/1.1. Null while the response waits behind an earlier response on the same connection. */
  readonly socket?: object | null
  readonly headersSent?: boolean
  readonly req?: {
    readonly method?: string | undefined
    readonly headers?: Readonly<Record<string, string | readonly string[] | undefined>> | undefined
    readonly socket?: EndingSocket | null
    readonly upgrade?: boolean | null
  }
  once(event: 'finish' | 'close', listener: () => void): unknown
}

/**
 * Calls `done` once, after a response has ended. If the response has already ended, calls `done` immediately. Frameworks use
 * this function as their `Framework.ended`.
 * @param done gets the status, and true if the response was not sent completely: the client disconnected, the client reset the
 *   stream, the application failed, the connection was upgraded, or other code has replaced the response by status 206, 304, 412 or 416
 */
export function whenEnded(response: EndingResponse, done: (status: number, aborted: boolean) => void): void {
  let open = true
  const headers = response.req?.headers ?? {}
  const hides = conditions.some((name) => headers[name] !== undefined) ? watchStatus(response) : undefined
  const end = (aborted: boolean) => {
    if (!open) return
    open = false
    const sent = sentStatus(response)
    const incomplete = aborted || isReplaced(sent, response.req?.method) || hides?.(sent) === true
    if (sent !== response.statusCode) response.statusCode = sent
    done(sent, incomplete)
  }
  const { stream } = response
  if (stream !== undefined) whenClosed(stream, end)
  else whenSent(response, end)
}

/**
 * True if other code must have replaced the handler's response by status 304, because only GET and HEAD have such responses (RFC 9110,
 * 13.2.2). Some code for ETags sends status 304 in place of any response, so a client that knows the ETag of a failure could hide each
 * failure.
 */
export function isReplaced(status: number, method = 'GET'): boolean {
  return status === 304 && method !== 'GET' && method !== 'HEAD'
}

/** The fields of a request that let code such as `sendFile` of Express send another status than the application has set. */
const conditions = ['if-none-match', 'if-match', 'if-unmodified-since', 'range']

/** The statuses that such code sends: a part of a file, a file that the client has, a failed condition, no such part. */
const conditional = [206, 304, 412, 416]

/**
 * Observes the status that the application sets, by an accessor on the response. Returns a function of the sent status, which is true if
 * other code has replaced a failure by one of the statuses above, or by several of them in turn. Responses of Next.js set 304 for each method.
 */
function watchStatus(response: EndingResponse): (sent: number) => boolean {
  const { get, set } = accessorOf(response)
  let own = 0 // in HTTP/2, `writeHead` does not set the status
  let isRange = false
  Object.defineProperty(response, 'statusCode', {
    get,
    set(status: number) {
      const isLate = response.headersSent === true
      set(status)
      if (isLate) return
      if (conditional.includes(status)) isRange ||= status === 206
      else [own, isRange] = [status, false]
    },
    configurable: true,
    enumerable: true,
  })
  const forget = () => {
    own = 0
  }
  forgets.set(response, [...(forgets.get(response) ?? []), forget])
  return (sent) => {
    if (own < 400 || !conditional.includes(sent)) return false
    return own !== 404 || isRange || sent === 206 // Koa begins each response with status 404
  }
}

/** For each response whose status is observed: what forgets the statuses until now. */
const forgets = new WeakMap<EndingResponse, (() => void)[]>()

/** Takes the present status for one that nobody has set, as the first status of Koa. */
export function forgetStatus(response: EndingResponse): void {
  for (const forget of forgets.get(response) ?? []) forget()
}

/** Functions that read and set the status of a response: those of HTTP/2 or of an earlier `watchStatus`, or new ones. */
function accessorOf(response: EndingResponse): { get: () => number; set: (status: number) => void } {
  for (let owner: object | null = response; owner !== null; owner = Object.getPrototypeOf(owner)) {
    const { get, set } = Object.getOwnPropertyDescriptor(owner, 'statusCode') ?? {}
    if (get !== undefined && set !== undefined) return { get: get.bind(response), set: set.bind(response) }
  }
  let status = response.statusCode
  return {
    get: () => status,
    set(next) {
      status = next
    },
  }
}

/**
 * The status that was sent. Code that fails after the response often has an error handler that sets another status. In HTTP/1.1, only
 * `_header` has the status line that was sent.
 */
function sentStatus(response: EndingResponse): number {
  const { stream, statusCode } = response
  const { _header: head } = response as { readonly _header?: unknown }
  const { ':status': sent } = (stream?.sentHeaders ?? {}) as { readonly ':status'?: unknown }
  const status = typeof head === 'string' ? Number(head.slice(9, 12)) : sent
  return typeof status === 'number' && status >= 100 ? status : statusCode
}

/** True if the client has disconnected before the response was sent completely. Frameworks use this function as their `Framework.left`. */
export function hasLeft(response: EndingResponse): boolean {
  const { stream, writableFinished, destroyed, socket, req } = response
  if (stream !== undefined) return stream.destroyed && wasAborted(stream)
  if (writableFinished) return false
  return destroyed || (socket === null && req?.socket?.destroyed === true)
}

/** Observes a response of HTTP/1.1. A response that was sent emits 'finish' and then 'close'. Any other response emits only 'close'. */
function whenSent(response: EndingResponse, end: (aborted: boolean) => void): void {
  if (response.writableFinished || response.destroyed) {
    end(!response.writableFinished)
    return
  }
  // A response that waits behind another response has no socket. After an upgrade, the socket may be detached from its
  // response. If the client disconnects, neither response emits an event, so the socket is observed.
  const socket = response.socket === null || response.req?.upgrade ? response.req?.socket : undefined
  const stop = socket?.once === undefined ? undefined : whenLeft(socket, end)
  response.once('finish', () => {
    stop?.()
    // If the client disconnects while written data waits to be sent, Node emits 'finish' too: after the socket was destroyed (Node 20
    // and 22), or after the write has failed.
    const { destroyed = false, errored = null } = response.req?.socket ?? {}
    end(destroyed || errored !== null)
  })
  // The whole response to HEAD is its head. The client may close the connection while the application still writes a body.
  const isHead = response.req?.method === 'HEAD' && response.socket !== null
  const before = response.socket === null ? undefined : response.req?.socket?.bytesWritten
  // Inner requests of Nuxt have a socket that reports nothing. Their responses emit 'close' before 'finish'.
  const isInner = response.req?.socket?.once === undefined
  response.once('close', () => {
    const isSent = (isHead && response.headersSent === true) || (isInner && response.writableFinished)
    end(!isSent && !isWhole(response, before))
  })
}

/**
 * True if all bytes of the body have been written, as Content-Length says. A client may then close the connection before the application
 * ends the response, which a stream of a file does only after one more read.
 * @param before how many bytes the socket had written before the response; undefined if that is not known
 */
function isWhole(response: EndingResponse, before: number | undefined): boolean {
  const { _header: head } = response as { readonly _header?: unknown }
  // If a write was cancelled, its bytes count as written, but the socket has not finished.
  const { bytesWritten = 0, writableFinished } = response.req?.socket ?? {}
  const length = typeof head === 'string' && /\r\ncontent-length: *(\d+)\r\n/i.exec(head)?.[1]
  if (!length || before === undefined || !writableFinished) return false
  return bytesWritten - before >= (head as string).length + Number(length)
}

/**
 * Observes a stream of HTTP/2, and calls `end` once. The events of a response do not show how the response ended: a response whose
 * stream was reset also emits 'finish' and 'close', and a response to HEAD emits 'finish' before it is sent. So the state of the stream
 * decides: the response was aborted if its stream closed before the response was written completely.
 *
 * If the client resets the stream in the packet that ends its request, a handler may write its whole response before node:http2 reads the
 * reset. Then the code of the reset decides, unless the client chooses the code 0, which is the code of a stream that was not reset. A
 * stream whose request and response have both ended is closed, and cannot be reset any more.
 */
export function whenClosed(stream: EndingStream, end: (aborted: boolean) => void): void {
  if (stream.destroyed) {
    end(wasAborted(stream))
    return
  }
  let requestEnded = false
  stream.once('finish', () => {
    requestEnded = stream.readableEnded
  })
  const closed = () => {
    if (open.delete(closed)) end(wasAborted(stream) || (requestEnded && Boolean(stream.rstCode)))
  }
  stream.once('close', closed)
  open.set(closed, stream)
  watching ??= setInterval(endClosed, 1000)
  watching.unref?.()
}

function wasAborted({ headersSent, writableFinished, aborted }: EndingStream): boolean {
  return !headersSent || !writableFinished || aborted
}

/** The streams of HTTP/2 whose responses have not ended. */
const open = new Map<() => void, EndingStream>()
let watching: ReturnType<typeof setInterval> | undefined

/**
 * Looks once a second for streams that a client has reset with the code NO_ERROR, while the last bytes of the stream waited to
 * be sent. For such a stream, node:http2 emits no event and never destroys the stream, not even when the client has
 * disconnected.
 */
function endClosed(): void {
  for (const [closed, stream] of open) if (stream.closed) closed()
  if (open.size > 0) return
  clearInterval(watching)
  watching = undefined
}

/** The waiting responses of each socket. All responses of a socket share one listener, because a client may send many requests. */
const waiting = new WeakMap<EndingSocket, Set<(aborted: boolean) => void>>()

/**
 * Observes the socket of the connection, for a response that has no socket yet and emits no event if the client disconnects. Returns a
 * function that stops this.
 */
function whenLeft(socket: EndingSocket, end: (aborted: boolean) => void): (() => void) | undefined {
  if (socket.destroyed) {
    end(true)
    return undefined
  }
  let ends = waiting.get(socket)
  if (ends === undefined) {
    ends = new Set()
    waiting.set(socket, ends)
    socket.once('close', () => {
      // The end of an aborted response may give its reserved time back. Only the last reserved time can be given back, so the
      // newest response ends first.
      for (const each of [...(waiting.get(socket) ?? [])].reverse()) each(true)
    })
  }
  ends.add(end)
  return () => void ends.delete(end)
}
