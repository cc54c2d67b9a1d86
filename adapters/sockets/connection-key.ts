import { randomWords } from '#platform'
import type { RateLimiter } from '../../src/limiter/index.ts'

/** Differs in each process, because processes may share a store. */
const processId = [...randomWords()].map((word) => word.toString(36)).join('')
let connections = 0

/**
 * The key of one connection. Nobody has it again, so its states are reset once the connection is closed: a store would
 * keep them for the whole window.
 */
export class ConnectionKey {
  readonly text: string
  #closed = false
  /** How many limits have ended while the store decides on their last messages, which it would count after a reset. */
  #deciding = 0
  /** The limiters that have states of this key. */
  #limiters: Set<RateLimiter> | undefined

  constructor() {
    connections++
    this.text = `${processId}-${connections}`
  }

  /** This limiter is asked for the key from now on. */
  countedBy(limiter: RateLimiter): void {
    this.#limiters ??= new Set()
    this.#limiters.add(limiter)
  }

  /** A limit ends while the store may decide on its last messages. */
  decides(): void {
    this.#deciding++
  }

  /** The last messages of that limit are decided. */
  decided(): void {
    this.#deciding--
    this.#forget()
  }

  close(): void {
    this.#closed = true
    this.#forget()
  }

  #forget(): void {
    if (!this.#closed || this.#deciding > 0) return
    for (const limiter of this.#limiters ?? []) limiter.reset(this.#aloneIn(limiter)).catch(() => {})
    this.#limiters = undefined
  }

  /** A key that only this connection has, in every scope: what others share with it must not be reset. */
  #aloneIn({ scopes }: RateLimiter): string | Record<string, string> {
    return scopes.length === 1 ? this.text : Object.fromEntries(scopes.map((scope) => [scope, this.text]))
  }
}

/** The part of a connection of socket.io that has a key. */
export interface ConnectionLike {
  once(name: 'close', listener: () => void): unknown
}

const keys = new WeakMap<ConnectionLike, ConnectionKey>()

/**
 * The key of a connection that carries several sockets. A client opens and closes these as often as it likes, by a packet, so a
 * key of each socket would be a new quota.
 */
export function keyOfConnection(connection: ConnectionLike): ConnectionKey {
  let key = keys.get(connection)
  if (key === undefined) {
    key = new ConnectionKey()
    keys.set(connection, key)
    connection.once('close', () => key?.close())
  }
  return key
}
