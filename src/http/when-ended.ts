/** The part of node:http's `ServerResponse` that `whenEnded` reads. */
export interface EndingResponse {
  readonly statusCode: number
  readonly writableFinished: boolean
  readonly destroyed: boolean
  once(event: 'finish' | 'close', listener: () => void): unknown
}

/**
 * Calls `done` once when a response of node:http has ended, at once if it has already. For `Framework.ended`.
 * @param done gets the status, and true if the client left first. A sent response emits 'finish' before 'close'; one
 *   that was not sent emits only 'close'.
 */
export function whenEnded(response: EndingResponse, done: (status: number, aborted: boolean) => void): void {
  let open = true
  const end = (aborted: boolean) => {
    if (open) done(response.statusCode, aborted)
    open = false
  }
  if (response.writableFinished || response.destroyed) {
    end(!response.writableFinished)
    return
  }
  response.once('finish', () => end(false))
  response.once('close', () => end(true))
}
