import { STATUS_CODES } from 'node:http'
import type { ServerHttp2Stream } from 'node:http2'
import type { Duplex } from 'node:stream'

/** Milliseconds after which the connection is closed if the client does not read the refusal. */
const patience = 1000

/** True for a stream of HTTP/2, false for the socket of a connection of HTTP/1.1. */
export function isStream(socket: Duplex): socket is ServerHttp2Stream {
  return 'respond' in socket
}

/** True if the client has disconnected. A stream that was reset is `closed`, maybe long before it is `destroyed`. */
export function hasClosed({ destroyed, closed }: Duplex): boolean {
  return destroyed || closed
}

/**
 * Refuses an upgrade: sends a response on the socket or the stream, then closes it.
 * @param more further header fields, such as `Retry-After`
 */
export function refuseUpgrade(socket: Duplex, status: number, more: Readonly<Record<string, string>>): void {
  if (hasClosed(socket)) return
  const text = STATUS_CODES[status] as string
  const fields = { ...more, 'Content-Type': 'text/plain', 'Content-Length': String(text.length) }
  const cut = setTimeout(() => socket.destroy(), patience)
  // If the client has disconnected, the socket emits an error. After `upgrade`, node:http no longer listens for errors of the socket.
  socket.on('error', () => socket.destroy())
  socket.once('close', () => clearTimeout(cut))
  if (isStream(socket)) {
    socket.respond({ ':status': status, ...fields })
    socket.end(text, () => socket.close())
    return
  }
  const lines = Object.entries({ ...fields, Connection: 'close' }).map(([name, value]) => `${name}: ${value}\r\n`)
  socket.end(`HTTP/1.1 ${status} ${text}\r\n${lines.join('')}\r\n${text}`, () => socket.destroy())
}
