import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Milliseconds after which a client that does not take its refusal is cut off. */
const patience = 1000

/**
 * Responds on a socket that was to be upgraded, then closes it.
 * @param more fields, such as `Retry-After: 1`
 */
export function refuseUpgrade(socket: Duplex, status: number, more: readonly string[]): void {
  const text = STATUS_CODES[status] as string
  const fields = [
    `HTTP/1.1 ${status} ${text}`,
    ...more,
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
