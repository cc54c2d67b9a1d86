import { connect, type NetConnectOpts } from 'node:net'
import { type ConnectionOptions, connect as connectTls } from 'node:tls'
import { monotonicClock } from '../../../common/index.ts'

/** How long a new connection may take to get an answer, in milliseconds. */
const longest = 1000
/** How many milliseconds later the answers on the earlier connection have arrived too, if that connection works. */
const grace = 50

/** A client of node-redis, of one server. */
export interface AddressedClient {
  readonly options?: { readonly socket?: (NetConnectOpts | ConnectionOptions) & { readonly tls?: boolean } }
}

/** The clients whose server is asked at the moment. */
const asked = new WeakSet<AddressedClient>()

/**
 * Resolves to true if the server of a node-redis client answers on a new connection. A client must not reconnect to a server that accepts
 * connections and does not answer, such as a machine that hangs: node-redis would wait for that server without end, also after a failover.
 * Resolves to false if the server of this client is asked already.
 */
export async function serverAnswers(client: AddressedClient): Promise<boolean> {
  if (asked.has(client)) return false
  asked.add(client)
  const { tls, ...socket } = client.options?.socket ?? {}
  const to = { port: 6379, ...socket, onread: undefined }
  const answered = new Promise<boolean>((resolve) => {
    const connection = tls ? connectTls(to as ConnectionOptions) : connect(to as NetConnectOpts)
    connection.unref().setTimeout(longest, () => connection.destroy())
    let answers = false
    connection.on('error', () => undefined).on('close', () => setTimeout(resolve, answers ? grace : 0, answers))
    connection.once('data', () => {
      answers = true
      connection.destroy()
    })
    connection.write('*1\r\n$4\r\nPING\r\n')
  })
  // The options may be those of another version, with which a connection throws.
  return answered.catch(() => false).finally(() => asked.delete(client))
}

/** For each connection that has begun to answer and is not ready: how many bytes have come, and since when, in microseconds. */
const began = new WeakMap<object, { bytes: number; since: number }>()

/** For how long a connection that has begun to answer may be silent: ioredis asks a server that loads its data every 10 seconds. */
const longestPause = 11_000_000

/** True if a connection that is not ready has answered nothing, or nothing more for a while. */
export function beganSilent(stream: { readonly bytesRead?: number }): boolean {
  const { bytesRead: bytes = 0 } = stream
  if (bytes === 0) return true
  const now = monotonicClock()
  const before = began.get(stream)
  if (before?.bytes === bytes) return now - before.since > longestPause
  began.set(stream, { bytes, since: now })
  return false
}
