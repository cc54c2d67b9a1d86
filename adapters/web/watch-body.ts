import { realTimers, waitUntil } from '#platform'
import { copyWithBody } from '../response-fields.ts'

/** The functions that `watchBody` calls while a response body is sent. */
export interface BodyWatcher {
  /** Called with 1 when the server asks for a chunk, and with -1 when the server has got that chunk. */
  reads(change: 1 | -1): void
  /** Called when the body has ended. `aborted` is true if the body was not sent completely. */
  end(aborted: boolean): void
}

/**
 * Returns the response with a body whose end is reported to `watcher`. A body ends when it was read completely, when the server cancels it
 * (for example because the client has disconnected), or when the application fails. No chunk is read before the server asks for a chunk. If
 * a response has no body, its end is reported immediately.
 */
export function watchBody(response: Response, watcher: BodyWatcher): Response {
  const { body } = response
  if (body === null || body === undefined) {
    watcher.end(false)
    return response
  }
  if (body.locked || response.bodyUsed) {
    watcher.end(true)
    return response
  }
  const answer = copyWithBody(response, watched(body.getReader(), watcher))
  // Bun gives a text its content type only when Bun sends the text. A stream would have no type, and browsers would guess the type.
  const isUntyped = ({ headers }: Response) => !headers.has('content-type')
  if (isUntyped(answer) && isUntyped(new Response(''))) answer.headers.set('content-type', 'text/plain;charset=utf-8')
  return answer
}

/** How many milliseconds a server may wait before it reads a body for the first time. SvelteKit and Astro read at once. */
const firstRead = 100

/**
 * Like `watchBody`, for a response to HEAD, or one that the client has already. A framework may answer without the body. It then cancels the
 * body, or reads nothing of it.
 * @param unread called in place of `watcher.end` if nothing was read
 * @param mayStayUnread true for a framework that may leave the body as it is. `unread` is then called if nothing was read for 100 ms
 */
export function watchUnread(
  response: Response,
  watcher: BodyWatcher,
  unread: () => void,
  mayStayUnread: boolean,
): Response {
  let isRead = false
  const endUnread = () => {
    if (!isRead) unread()
  }
  if (mayStayUnread && response.body) {
    waitUntil(new Promise<void>((resolve) => realTimers.setTimeout(resolve, firstRead)).then(endUnread))
  }
  return watchBody(response, {
    reads(change) {
      isRead = true
      watcher.reads(change)
    },
    end: (aborted) => (isRead ? watcher.end(aborted) : unread()),
  })
}

/**
 * True if the client has this response already, as its field If-None-Match says (RFC 9110, 13.1.2).
 * @param method the method of the request. Undefined for SvelteKit: SvelteKit compares only one ETag, whatever the method is
 */
export function isCached({ status, headers }: Response, method: string | undefined, request: Headers): boolean {
  const known = request.get('if-none-match')
  const tag = headers?.get?.('etag') // a handler may return anything
  if (!known || !tag || status !== 200) return false
  if (method === undefined) return known.replace(/^W\/(?=")/, '') === tag
  const weak = (each: string) => each.trim().replace(/^W\//, '')
  return method === 'GET' && (known.trim() === '*' || known.split(',').map(weak).includes(weak(tag)))
}

/** The high-water mark is 0, so that a stream of events is not read before the server asks for a chunk. */
const lazily = { highWaterMark: 0 }

/**
 * The most bytes of a chunk. A longer chunk is passed on in pieces, because some servers (Deno) take a whole chunk at once, also if the
 * client reads nothing. They would then report the end of the body too early.
 */
const mostBytes = 65_536

function watched(reader: ReadableStreamDefaultReader<Uint8Array>, watcher: BodyWatcher): ReadableStream<Uint8Array> {
  let rest: Uint8Array | undefined
  const next = async () => {
    const value = rest ?? (await reader.read()).value
    rest = value instanceof Uint8Array && value.length > mostBytes ? value.subarray(mostBytes) : undefined
    // A copy, because a server may transfer the buffer. `slice` of a Buffer is no copy.
    return rest === undefined ? value : Uint8Array.prototype.slice.call(value, 0, mostBytes)
  }
  const source = {
    async pull(controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> {
      watcher.reads(1)
      try {
        const value = await next()
        watcher.reads(-1)
        if (value !== undefined) {
          controller.enqueue(value)
          return
        }
        controller.close()
        watcher.end(false)
      } catch (error) {
        watcher.end(true)
        controller.error(error)
      }
    },
    cancel(reason: unknown): Promise<void> {
      watcher.end(true)
      return reader.cancel(reason)
    },
  }
  return new ReadableStream(source, lazily)
}
