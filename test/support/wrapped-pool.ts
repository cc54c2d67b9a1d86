import type { Pool, PoolClient } from 'pg'

/** A pool whose connections go through `wrap`, once each. */
export function wrappedPool(pool: Pool, wrap: (client: PoolClient) => PoolClient): Pool {
  const wrapped = new WeakMap<PoolClient, PoolClient>()
  function wrappedOnce(client: PoolClient): PoolClient {
    const known = wrapped.get(client) ?? wrap(client)
    wrapped.set(client, known)
    return known
  }
  return Object.assign(Object.create(pool), {
    connect: (callback: (error?: Error, client?: PoolClient) => void) =>
      pool.connect((error, client) => callback(error, client && wrappedOnce(client))),
  })
}
