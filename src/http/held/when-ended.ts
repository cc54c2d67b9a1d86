/** The part of a socket that `whenEnded` reads. */
interface EndingSocket {
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** The part of a stream of node:http2 that `whenEnded` reads. */
interface EndingStream {
  readonly headersSent: boolean
  readonly writableFinished: boolean
  readonly aborted: boolean
  readonly destroyed: boolean
  once(event: 'close', listener: () => void): unknown
}

/** The part of a response of node:http, or of the same interface of node:http2, that `whenEnded` reads. */
export interface EndingResponse {
  readonly statusCode: number
  readonly writableFinished: boolean
  readonly destroyed: boolean
  /** HTTP/2 only. */
  readonly stream?: EndingStream | undefined
  /** HTTP/1.1 only: null while the response waits behind another one on its connection. */
  readonly socket?: object | null
  readonly req?: { readonly socket?: EndingSocket | null; readonly upgrade?: boolean | null }
  once(event: 'finish' | 'close', listener: () => void): unknown
}

/**
 * Calls `done` once when a response has ended, or at once if the response has ended already. For `Framework.ended`.
 * @param done gets the status, and true if the response was not sent completely: the client left or reset the stream, the
 *   application failed, or the connection was upgraded
 */
export function whenEnded(response: EndingResponse, done: (status: number, aborted: boolean) => void): void {
  let open = true
  const end = (aborted: boolean) => {
    if (!open) return
    open = false
    done(response.statusCode, aborted)
  }
  const { stream } = response
  if (stream !== undefined) whenClosed(stream, end)
  else whenSent(response, end)
}

/** HTTP/1.1: a response that was sent emits 'finish', then 'close'. A response that was not sent emits only 'close'. */
function whenSent(response: EndingResponse, end: (aborted: boolean) => void): void {
  if (response.writableFinished || response.destroyed) {
    end(!response.writableFinished)
    return
  }
  response.once('finish', () => end(false))
  response.once('close', () => end(true))
  // The socket of an upgraded connection may be detached from its response, which then emits nothing either.
  const socket = response.socket === null || response.req?.upgrade ? response.req?.socket : undefined
  if (socket) whenLeft(socket, response, end)
}

/**
 * HTTP/2: the response emits 'finish' and 'close' after a reset too, a response to HEAD is finished before it has
 * begun, and the code of a reset is the client's choice. So the stream decides: the response was aborted if its stream
 * closed before the last write.
 */
function whenClosed(stream: EndingStream, end: (aborted: boolean) => void): void {
  const closed = () => end(!stream.headersSent || !stream.writableFinished || stream.aborted)
  if (stream.destroyed) closed()
  else stream.once('close', closed)
}

/** The responses that wait on each socket. One listener serves them all, as a client may pipeline many requests. */
const waiting = new WeakMap<EndingSocket, Set<(aborted: boolean) => void>>()

/** A response that waits behind another one emits nothing when its client leaves: node:http knows of no socket for it. */
function whenLeft(socket: EndingSocket, response: EndingResponse, end: (aborted: boolean) => void): void {
  if (socket.destroyed) {
    end(true)
    return
  }
  let ends = waiting.get(socket)
  if (ends === undefined) {
    ends = new Set()
    waiting.set(socket, ends)
    socket.once('close', () => {
      // Begin with the response that came last: a booked time can be given back only while no later time is booked.
      for (const each of [...(waiting.get(socket) ?? [])].reverse()) each(true)
    })
  }
  ends.add(end)
  response.once('finish', () => ends.delete(end))
}
