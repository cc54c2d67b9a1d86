/*
 * A pool of node-redis does not report whether its clients are connected. After a client has failed, headgate sends no command until the
 * pool has a connected client. Otherwise a command would wait in the pool, and its error would not give the cause.
 */
import type { ClientErrors } from './client-errors.ts'

export interface NodeRedisPool {
  readonly isOpen: boolean
  readonly totalClients: number
  /** Runs a function with a client of the pool, as soon as a client is idle. */
  execute<T>(run: (client: { readonly isReady: boolean }) => T): Promise<Awaited<T>>
}

export function isPool(client: object): client is NodeRedisPool {
  return 'totalClients' in client && 'execute' in client && 'isOpen' in client
}

/** Returns a function that returns true if the pool would send a command without a wait. @param errors the errors of the pool */
export function poolReady(pool: NodeRedisPool, errors: ClientErrors): () => boolean {
  let searching = false
  async function search(): Promise<void> {
    searching = true
    try {
      if (await pool.execute(({ isReady }) => isReady)) errors.last = undefined
    } catch {
      // An error needs no handling here, because the pool emits an event for the error.
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
