import { HeadgateError, type MaybePromise } from '../../src/common/index.ts'
import type { EndingResponse } from '../../src/http/held/index.ts'
import type { Framework } from '../../src/http/index.ts'
import type { ResponseHead } from '../node-pair.ts'
import { isResponse, withFields } from '../response-fields.ts'
import { watchBody } from './watch-body.ts'

/** A Response, or a value that a runtime takes in its place: Bun takes undefined after an upgrade to a WebSocket. */
type Answered = Response | undefined | null

interface End {
  status: number
  aborted: boolean
}

/**
 * What limiters add to a Response that does not exist yet: fields, or a refusal in its place. The limiters of one request
 * share an answer, so their fields are joined as on a response of Node.
 */
export class Answer {
  /** The fields, by the name under which they were set: the form that a Response reads fastest. */
  readonly fields: Record<string, string> = {}
  status = 200
  /** The refusal that is sent in place of the handler's response: a Response or a text. */
  refusal: unknown
  /** The content type of a refusal that is a text. */
  type: string | undefined
  /** The response of the handler, once there is one. */
  response: Response | undefined
  /** True once the fields were put on a response: the next limiter belongs to another request. */
  used = false
  /** How many nested handlers are making the response. 0 for a limiter that is called without `wrap`. */
  #making = 0
  /** True if units are held until the response has ended. */
  #held = false
  /** How many reads of the body wait for a chunk. */
  #reads = 0
  #progress = 0
  #waiting: ((status: number, aborted: boolean) => void)[] | undefined
  /** The response whose end is awaited. */
  #watched: Response | undefined
  #end: End | undefined
  /** How the last response has ended, which is the end of the request once no handler is running. */
  #passed: End | undefined

  /** Calls `done` when the response has ended, as `Framework.ended` promises. The signal is that of the request. */
  whenEnded(done: (status: number, aborted: boolean) => void, signal: AbortSignal | undefined): void {
    if (this.#end !== undefined) {
      done(this.#end.status, this.#end.aborted)
      return
    }
    if (this.#waiting === undefined) {
      this.#waiting = []
      if (signal?.aborted) this.#tell({ status: 0, aborted: true })
      else signal?.addEventListener('abort', () => this.#left(), { once: true })
    }
    if (this.#end === undefined) this.#waiting.push(done)
    else done(0, true)
  }

  /**
   * For `Framework.held`: a number that grows while a handler makes the response, and while its body is read. Undefined if a
   * response of Node tells the end.
   */
  hold(node: EndingResponse | undefined): (() => number) | undefined {
    this.#held = true
    return node === undefined ? () => this.#progressed() : undefined
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

  /** True if a listener of `whenEnded` still waits for the end of the response. */
  get awaited(): boolean {
    return this.#waiting !== undefined && this.#end === undefined
  }

  /** Ends the request, unless a handler is running, which may return another response. Only the first end counts. */
  end(status: number, aborted: boolean): void {
    this.#passed = { status, aborted }
    this.#settle()
  }

  #left(): void {
    this.#tell({ status: this.response?.status ?? 0, aborted: true })
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
   * The response with the fields. It is the same object, unless its headers are immutable, or something waits for its end
   * and it has a body.
   * @throws HeadgateError `HEADGATE_NO_END` for a response that only passes the request on, if units are held until its end
   */
  apply<Given extends Answered>(response: Given, request: Pick<Request, 'method'>): Given {
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

  /** Sets the fields on the response of Node that is sent for this answer. */
  setOn(response: ResponseHead): void {
    this.used = true
    for (const name in this.fields) response.setHeader(name, this.fields[name] as string)
  }

  /** The response of HEAD sends no body, and servers need not read the one that it has. */
  #watch(response: Response, { method }: Pick<Request, 'method'>): void {
    this.response = response
    this.#passed = undefined
    const end = (aborted: boolean) => this.end(response.status, aborted || !isStatus(response.status))
    if (method === 'HEAD') end(false)
    else this.response = watchBody(response, { reads: (change) => this.#read(change), end })
    this.#watched = this.response
  }

  #read(change: number): void {
    this.#reads += change
    this.#progress++
  }

  /** The response in place of the handler's: the refusal, or an empty 499 if the client has left. */
  refused(request: Pick<Request, 'method'>): Response {
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

/** True for `NextResponse.next()` and `NextResponse.rewrite()`: a route answers later. False for no Response. */
function passesOn({ headers }: Partial<Response>): boolean {
  return headers?.has?.('x-middleware-next') || headers?.has?.('x-middleware-rewrite') || false
}

/** False for `Response.error()`, which has status 0, and for no Response: the client's status is then unknown. */
export function isStatus(status: unknown): status is number {
  return typeof status === 'number' && status >= 100 && status < 600
}

function noEnd(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_NO_END',
    'This response only passes the request on, as NextResponse.next() does, so nobody sees how the request ends, and neither ' +
      'count nor a limit of units in flight can work here. Wrap the route handler instead: export const POST = limit.wrap(handler).',
  )
}

/** The status that proxies log for a client that closed the connection. */
const clientClosed = 499

/** The property of a Request or of a framework's context that has its answer. */
const kept: unique symbol = Symbol('headgate.answer')

/** The answer for this request: the one that a limiter around this one has made, or a new one. */
export function answerOf(owner: object): Answer {
  const keeper = owner as { [kept]?: Answer }
  let answer = keeper[kept]
  if (answer === undefined || answer.used) {
    answer = new Answer()
    keeper[kept] = answer
  }
  return answer
}

/** The functions by which a guard writes on an answer. */
export function answerWriter<Owner>(
  of: (owner: Owner) => Answer,
): Pick<
  Framework<unknown, Owner>,
  'setHeader' | 'responseHeader' | 'setStatus' | 'clearRefusal' | 'send' | 'returned'
> {
  return {
    setHeader(owner, name, value) {
      of(owner).fields[name] = value
    },
    responseHeader: (owner, name) => of(owner).fields[name],
    setStatus(owner, status) {
      of(owner).status = status
    },
    clearRefusal(owner) {
      const answer = of(owner)
      answer.status = 200
      answer.refusal = undefined
      delete answer.fields['Retry-After']
      delete answer.fields['Cache-Control']
    },
    send(owner, type, body) {
      const answer = of(owner)
      answer.type = type
      answer.refusal = body
    },
    returned(owner, value) {
      of(owner).refusal = value
    },
  }
}
