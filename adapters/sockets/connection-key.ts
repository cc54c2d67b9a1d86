import { randomWords } from '#platform'
import { getOrInsert } from '../../src/common/index.ts'
import type { RateLimiter } from '../../src/limiter/index.ts'

/** The beginning of the keys of this process. It differs in each process, because processes may share a store. */
const processId = [...randomWords()].map((word) => word.toString(36)).join('')
let connections = 0

/**
 * The key of one connection. No later connection gets the same key. So its states are reset once the connection is
 * closed: otherwise the store would keep them for the whole window.
 */
export class ConnectionKey {
  readonly text: string
  #closed = false
  /** How many ended limits wait for the store's decision on their last messages. A reset before would be undone. */
  #deciding = 0
  /** The limiters that have states of this key. */
  #limiters: Set<RateLimiter> | undefined

  constructor() {
    connections++
    this.text = `${processId}-${connections}`
  }

  /** Notes that this limiter may have a state of the key from now on. */
  countedBy(limiter: RateLimiter): void {
    this.#limiters ??= new Set()
    this.#limiters.add(limiter)
  }

  /** Notes that a limit has ended while the store may still decide on its last messages. */
  decides(): void {
    this.#deciding++
  }

  /** Notes that the store has decided on the last messages of a limit that has ended. */
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

  /** The key in every scope, so that `reset` forgets only states of this connection, and none that others share. */
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
 * The key of a connection that carries several sockets. A client can open and close such sockets as often as it likes,
 * with one packet each. A key for each socket would give the client a new quota each time.
 */
export function keyOfConnection(connection: ConnectionLike): ConnectionKey {
  return getOrInsert(keys, connection, () => {
    const key = new ConnectionKey()
    connection.once('close', () => key.close())
    return key
  })
}
