/*
 * A pool of node-redis does not say whether its clients are connected. So once one of them has failed, no command is sent
 * until one is found that is connected: else a command would wait in the pool, and nobody would know why.
 */
import type { ClientErrors } from './client-errors.ts'

export interface NodeRedisPool {
  readonly isOpen: boolean
  readonly totalClients: number
  /** Runs a function with a client that nobody uses, when there is one. */
  execute<T>(run: (client: { readonly isReady: boolean }) => T): Promise<Awaited<T>>
}

export function isPool(client: object): client is NodeRedisPool {
  return 'totalClients' in client && 'execute' in client && 'isOpen' in client
}

/** A function that tells whether a command would be sent at once. @param errors those of the pool */
export function poolReady(pool: NodeRedisPool, errors: ClientErrors): () => boolean {
  let searching = false
  async function search(): Promise<void> {
    searching = true
    try {
      if (await pool.execute(({ isReady }) => isReady)) errors.last = undefined
    } catch {
      // The pool has an event for it.
    } finally {
      searching = false
    }
  }
  return () => {
    if (pool.isOpen && errors.last === undefined) return true
    if (!searching) void search()
    return false
  }
}
