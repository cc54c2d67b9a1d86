import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'
import { retryAfterSeconds } from '../../src/http/retry-after.ts'

/** Milliseconds after which a client that does not take its refusal is cut off. */
const patience = 1000

/**
 * Responds on a socket that was to be upgraded, then closes it.
 * @param retryAfter milliseconds until a new attempt makes sense; Infinity for none
 */
export function refuseUpgrade(socket: Duplex, status: 429 | 500 | 503, retryAfter: number): void {
  const text = STATUS_CODES[status] as string
  const seconds = retryAfterSeconds(retryAfter)
  const fields = [
    `HTTP/1.1 ${status} ${text}`,
    ...(seconds === undefined ? [] : [`Retry-After: ${seconds}`]),
    'Cache-Control: no-store',
    'Connection: close',
    'Content-Type: text/plain',
    `Content-Length: ${text.length}`,
  ]
  const cut = setTimeout(() => socket.destroy(), patience)
  // The client may have left, and node:http does not listen to the socket any more.
  socket.on('error', () => socket.destroy())
  socket.once('close', () => clearTimeout(cut))
  socket.end(`${fields.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}
