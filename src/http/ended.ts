import type { ServerResponse } from 'node:http'

/** `Framework.ended` over a response of node:http: 'finish' comes first where it was sent, 'close' alone where it was not. */
export function whenEnded(response: ServerResponse, done: (status: number, aborted: boolean) => void): void {
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
