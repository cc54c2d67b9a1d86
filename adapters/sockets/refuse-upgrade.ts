import { STATUS_CODES } from 'node:http'
import type { Duplex } from 'node:stream'

/** Milliseconds after which the connection is closed if the client does not read the refusal. */
const patience = 1000

/**
 * Refuses an upgrade: sends a response on the socket, then closes the socket.
 * @param more further header fields, such as `Retry-After: 1`
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
  // If the client has disconnected, the socket emits an error. After `upgrade`, node:http no longer listens for errors of the socket.
  socket.on('error', () => socket.destroy())
  socket.once('close', () => clearTimeout(cut))
  socket.end(`${fields.join('\r\n')}\r\n\r\n${text}`, () => socket.destroy())
}
