import { randomWords } from '#platform'
import { getOrInsert } from '../../src/common/index.ts'
import type { RateLimiter } from '../../src/limiter/index.ts'

/**
 * The first part of every connection key of this process. The part is random, because processes with a common store must have different
 * keys.
 */
const processId = [...randomWords()].map((word) => word.toString(36)).join('')
let connections = 0

/**
 * The key of one connection. No later connection has the same key, so the states of the key are useless after the connection
 * closes. So the states are then reset. Otherwise the store would keep the states until their window ends.
 */
export class ConnectionKey {
  readonly text: string
  #closed = false
  /**
   * How many closed sockets of the connection have messages that the store has not decided yet. A reset before these decisions
   * would have no effect, because the decisions write the states again.
   */
  #deciding = 0
  /** The limiters that may have states of this key. Undefined before the connection's first message. */
  #limiters: Set<RateLimiter> | undefined

  constructor() {
    connections++
    this.text = `${processId}-${connections}`
  }

  /** Records that this limiter may have a state of the key from now on. */
  countedBy(limiter: RateLimiter): void {
    this.#limiters ??= new Set()
    this.#limiters.add(limiter)
  }

  /** Records that a socket has closed while the store may still be deciding its last messages. */
  decides(): void {
    this.#deciding++
  }

  /** Records that the store has decided the last messages of a closed socket. */
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

  /**
   * The key to reset: for each scope (kind of key) of the limiter, the key of this connection. So `reset` deletes no states of a key that
   * this connection shares with other connections.
   */
  #aloneIn({ scopes }: RateLimiter): string | Record<string, string> {
    return scopes.length === 1 ? this.text : Object.fromEntries(scopes.map((scope) => [scope, this.text]))
  }
}

/** The part of a connection of socket.io that is needed to notice its close. */
export interface ConnectionLike {
  once(name: 'close', listener: () => void): unknown
}

const keys = new WeakMap<ConnectionLike, ConnectionKey>()

/**
 * The key of a connection with several sockets, as in socket.io. A client can open and close such a socket with one packet, as
 * often as it likes. If each socket had its own key, the client would get a new quota each time.
 */
export function keyOfConnection(connection: ConnectionLike): ConnectionKey {
  return getOrInsert(keys, connection, () => {
    const key = new ConnectionKey()
    connection.once('close', () => key.close())
    return key
  })
}
