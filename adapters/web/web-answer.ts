import { HeadgateError, type MaybePromise } from '../../src/common/index.ts'
import { type EndingResponse, isReplaced } from '../../src/http/held/index.ts'
import type { ResponseHead } from '../node-pair.ts'
import { isResponse, isStatus, passesOn, withFields } from '../response-fields.ts'
import { hasUpgraded } from './upgrades.ts'
import { isCached, watchBody, watchUnread } from './watch-body.ts'

/** A Response, or a value in place of a Response: Bun accepts undefined after an upgrade to a WebSocket. */
type Answered = Response | undefined | null

/** The part of a request that an answer needs. */
type Answering = Pick<Request, 'method' | 'headers'>

/** The part of a socket of node:http that an answer needs. */
export interface ClosingSocket {
  readonly destroyed: boolean
  readonly bytesWritten: number
  once(event: 'finish' | 'close', listener: () => void): unknown
}

interface End {
  status: number
  aborted: boolean
}

/**
 * Collects what limiters add to a Response before the Response exists: header fields, or a refusal. All limiters of one request share an
 * Answer, so the fields of all limiters are joined, as on a response of node:http.
 */
export class Answer {
  /**
   * The header fields, by the names under which they were set. A plain object, because the constructor of Response reads a
   * plain object fastest.
   */
  readonly fields: Record<string, string> = {}
  status = 200
  /** The refusal, which is sent in place of the handler's response: a Response or a text. Undefined if no limiter refused. */
  refusal: unknown
  /** The content type of the refusal, if the refusal is a text. */
  type: string | undefined
  /** The response of the handler. Undefined while the handler runs. */
  response: Response | undefined
  /** True after the fields were set on a response. If a limiter then decides on the same Request again, it gets a new Answer. */
  used = false
  /**
   * Tells the limit that has decided last the response of the handler behind it, or the status of an error. Middleware around the limit may
   * send another response.
   */
  tell: ((response: Response, isError?: boolean) => void) | undefined
  /** The work that limits have begun since they know the response behind them. Undefined if none has begun any. */
  told: Promise<unknown> | undefined
  /** True for SvelteKit, which leaves a body unread if it answers with status 304, whatever the method. */
  mayStayUnread = false
  /** True for Hono and Next.js, which drop the body of a response to HEAD, and do not cancel it. */
  dropsBodyOfHead = false
  readonly #limits: object[] = []
  /**
   * How many handlers of this request are running: a wrapped handler may call another wrapped handler. 0 if the application
   * called the limiter without `wrap`.
   */
  #making = 0
  /** True if a limiter has to know the end of the response: for the option `count`, or (then also `#inFlight`) to free units in flight. */
  #held = false
  #inFlight = false
  /** How many reads of the response body are waiting for a chunk. */
  #reads = 0
  #progress = 0
  #waiting: ((status: number, aborted: boolean) => void)[] | undefined
  /** True if the end of an upgraded request is the end of its connection. */
  #closes = false
  /** How many responses have been watched for their end. */
  #turn = 0
  /** The response whose body is being watched for its end. */
  #watched: Response | undefined
  #end: End | undefined
  /** True if a client that leaves now has not got the whole response. The response to HEAD is complete without its body. */
  #isIncomplete = true
  /** How the last response of a handler has ended. When no handler is running, the end of the last response is the end of the request. */
  #passed: End | undefined

  /**
   * Calls `done` after the response has ended, as `Framework.ended` requires.
   * @param signal the signal of the request, which is aborted if the client disconnects
   * @param socket the socket of node:http, if the request may upgrade its connection. The request then ends when the connection closes
   */
  whenEnded(
    done: (status: number, aborted: boolean) => void,
    signal: AbortSignal | undefined,
    socket?: ClosingSocket,
  ): void {
    if (this.#end !== undefined) {
      done(this.#end.status, this.#end.aborted)
      return
    }
    if (this.#waiting === undefined) {
      this.#waiting = []
      this.#closes = socket !== undefined
      if (signal?.aborted || socket?.destroyed) this.#tell({ status: 0, aborted: true })
      else signal?.addEventListener('abort', this.#left, { once: true })
      // A signal may live longer than the request, as that of a shutdown.
      this.#waiting.push(() => signal?.removeEventListener('abort', this.#left))
      for (const event of ['finish', 'close'] as const) socket?.once(event, this.#left)
    }
    if (this.#end === undefined) this.#waiting.push(done)
    else done(0, true)
  }

  /**
   * Records that a limiter has to know the end of the response. Returns a function, as `Framework.held` requires. Its number grows while a
   * handler runs or the server reads the response body. Undefined if a response of node:http reports the end.
   * @param socket the socket of a request that may upgrade. The number also grows after the answer, because an unread socket shows no close
   */
  hold(inFlight: boolean, node: EndingResponse | undefined, socket?: ClosingSocket): (() => number) | undefined {
    this.#held = true
    this.#inFlight ||= inFlight
    const before = socket?.bytesWritten ?? 0
    const answered = () => socket !== undefined && socket.bytesWritten > before
    return node === undefined ? () => (answered() ? ++this.#progress : this.#progressed()) : undefined
  }

  /** Adds a limit that decides on the request. False if the limit has decided before. */
  joins(limit: object): boolean {
    if (this.#limits.includes(limit)) return false
    this.#limits.push(limit)
    return true
  }

  /** The function `tell`, for the limit that has just decided. Later limits have a function of their own. */
  takeTell(): Answer['tell'] {
    const { tell } = this
    this.tell = undefined
    return tell
  }

  async make<Made>(handler: () => MaybePromise<Made>): Promise<Made> {
    this.#making++
    try {
      return await handler()
    } finally {
      this.#making--
    }
  }

  #progressed(): number {
    if (this.#making > 0 || this.#reads > 0) this.#progress++
    return this.#progress
  }

  /** True after the end of the request, or after a handler has thrown outside of any other handler. */
  get ended(): boolean {
    return this.#end !== undefined
  }

  /** True if a listener of `whenEnded` is still waiting for the end of the response. */
  get awaited(): boolean {
    return this.#waiting !== undefined && !this.ended
  }

  /** Ends the request, unless a handler is running, which may return another response. Later calls do nothing. */
  end(status: number, aborted: boolean): void {
    this.#passed = { status, aborted }
    this.#settle()
  }

  /** Ends the request if its response exists, because nobody will read the rest of the body. */
  abandon(): void {
    if (this.response !== undefined) this.end(this.response.status, false)
  }

  readonly #left = (): void => {
    this.#tell({ status: this.response?.status ?? 0, aborted: this.#isIncomplete || this.#making > 0 })
  }

  #settle(): void {
    if (this.#passed !== undefined && this.#making === 0) this.#tell(this.#passed)
  }

  #tell(end: End): void {
    if (this.#end !== undefined) return
    this.#end = end
    for (const done of this.#waiting ?? []) done(end.status, end.aborted)
  }

  /**
   * Sets the fields on the response of the handler. Returns the same object, unless the headers are immutable, or the response has a
   * body whose end must be seen.
   * @throws HeadgateError `HEADGATE_NO_END` if a limiter has to know the end of the response, but the response only tells the framework to
   *   make the real response later (`NextResponse.next()`), whose end cannot be seen
   */
  apply<Given extends Answered>(response: Given, request: Answering): Given {
    this.used = true
    if (response === undefined || response === null) {
      this.#settle()
      return response
    }
    if (this.#held && passesOn(response)) {
      this.end(0, true)
      throw noEnd()
    }
    const answered = withFields(response, this.fields)
    if (this.awaited && answered !== this.#watched) this.#watch(answered, request)
    else this.response = answered
    this.#settle()
    return this.response as Given
  }

  /** Sets the fields on the response of node:http. */
  setOn(response: ResponseHead): void {
    this.used = true
    for (const name in this.fields) response.setHeader(name, this.fields[name] as string)
  }

  /** Watches a body for its end. Some servers read the body of a response to HEAD, and end the response then. */
  #watch(response: Response, { method, headers }: Answering): void {
    this.response = response
    this.#passed = undefined
    const turn = ++this.#turn
    const upgraded = hasUpgraded(response, headers)
    if (upgraded || this.#closes) {
      // In answer to a request for an upgrade, @hono/node-server sends no body.
      if (upgraded !== this.#closes) this.end(response.status, upgraded)
      return
    }
    const { status } = response
    const incomplete = !isStatus(status) || isReplaced(status, method)
    // After a later response has replaced this one, the end of this one is not that of the request.
    const endAs = (ended: number, aborted: boolean) => void (turn === this.#turn && this.end(ended, aborted))
    const end = (aborted = false) => endAs(status, aborted || incomplete)
    const watcher = { reads: (change: number) => this.#read(change), end }
    this.#isIncomplete = incomplete || method !== 'HEAD'
    if (method === 'HEAD' && (this.dropsBodyOfHead || !this.#inFlight)) end()
    else if (method === 'HEAD') this.response = watchUnread(response, { ...watcher, end: () => end() }, end, true)
    else if (isCached(response, this.mayStayUnread ? undefined : method, headers)) {
      this.response = watchUnread(response, watcher, () => endAs(304, false), this.mayStayUnread)
    } else this.response = watchBody(response, watcher)
    this.#watched = this.response
  }

  #read(change: number): void {
    this.#reads += change
    this.#progress++
  }

  /** The response to a refused request: the refusal, or an empty response with status 499 if the client has disconnected. */
  refused(request: Answering): Response {
    const { refusal, status, type } = this
    if (isResponse(refusal)) return this.apply(refusal, request)
    this.used = true
    const body = refusal === undefined || refusal === null ? null : String(refusal)
    const headers = { ...this.fields }
    if (type !== undefined) headers['Content-Type'] = type
    const response = new Response(body, { status: status === 200 ? clientClosed : status, headers })
    return this.awaited ? this.apply(response, request) : response
  }
}

function noEnd(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_NO_END',
    'This response only passes the request on, as NextResponse.next() does, so nobody sees how the request ends, and neither ' +
      'count nor a limit of units in flight can work here. Wrap the route handler instead: export const POST = limit.wrap(handler).',
  )
}

/** Proxies log this status if a client closed the connection before the response. */
const clientClosed = 499
