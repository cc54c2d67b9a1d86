/*
 * A pool of node-redis does not say whether its clients are connected. After a client has failed, no command is sent until a
 * connected client is found. Otherwise a command would wait in the pool, and its error would not say why.
 */
import type { ClientErrors } from './client-errors.ts'

export interface NodeRedisPool {
  readonly isOpen: boolean
  readonly totalClients: number
  /** Runs a function with an idle client, once there is one. */
  execute<T>(run: (client: { readonly isReady: boolean }) => T): Promise<Awaited<T>>
}

export function isPool(client: object): client is NodeRedisPool {
  return 'totalClients' in client && 'execute' in client && 'isOpen' in client
}

/** A function that tells whether a command would be sent at once. @param errors the errors of the pool */
export function poolReady(pool: NodeRedisPool, errors: ClientErrors): () => boolean {
  let searching = false
  async function search(): Promise<void> {
    searching = true
    try {
      if (await pool.execute(({ isReady }) => isReady)) errors.last = undefined
    } catch {
      // The pool emits an event for this error.
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
