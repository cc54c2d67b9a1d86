/*
 * The methods that the store needs from a pool of `pg`. This package does not import `pg`.
 */

import { check, isPromise, longestSleep, type Reader, warnOnce } from '../../common/index.ts'
import { errorOf } from './postgres-error.ts'

/** The methods that the store needs from a connection to Postgres, as `pg` has them. */
export interface PostgresClient {
  /** Sends a text without parameters by the simple protocol: several statements in one round trip. */
  query(text: string): Promise<unknown>
  escapeLiteral(text: string): string
  on(event: 'error', listener: (error: Error) => void): unknown
  removeListener(event: 'error', listener: (error: Error) => void): unknown
  /** @param broken true to close the connection instead of returning it to its pool */
  release(broken?: boolean): void
}

/** The methods that the store needs from a pool of Postgres, as `pg` has them. */
export interface PostgresPool {
  connect(callback: (error: Error | undefined, client: PostgresClient | undefined) => void): unknown
}

/** The result of one statement. */
export interface Rows {
  readonly rows: readonly Readonly<Record<string, unknown>>[]
}

export const checkPool: Reader<PostgresPool> = check(
  (pool) => typeof Reflect.get(Object(pool), 'connect') === 'function' && 'totalCount' in Object(pool),
  "a Pool of 'pg'",
  'new Pool()',
)

/**
 * Calls `use` with a connection of the pool. If `use` takes longer than `longest`, or leaves a transaction that cannot
 * be ended, the connection is closed. Rejects with a HeadgateError: see `errorOf`.
 * @param longest the longest time for `use`, in milliseconds
 */
export async function withClient<T>(
  pool: PostgresPool,
  longest: number,
  use: (client: PostgresClient) => Promise<T>,
): Promise<T> {
  checkListener(pool)
  const client = await connected(pool, longest)
  let lent = true
  const giveBack = (broken: boolean) => {
    if (!lent) return
    lent = false
    clearTimeout(timer)
    if (!broken) client.removeListener('error', ignore)
    client.release(broken)
  }
  const timer = setTimeout(giveBack, Math.min(longest, longestSleep), true)
  try {
    const result = await use(client)
    giveBack(false)
    return result
  } catch (error) {
    const ended = lent && (await client.query('rollback').then(yes, no))
    giveBack(!ended)
    throw errorOf(error)
  }
}

const checked = new WeakSet<PostgresPool>()

/** Warns once for a pool without a listener for errors. Called at the first use, because the setup of the application has ended by then. */
function checkListener(pool: PostgresPool & { listenerCount?(event: string): number }): void {
  if (checked.has(pool)) return
  checked.add(pool)
  if (pool.listenerCount?.('error') !== 0) return
  warnOnce(
    'HEADGATE_CLIENT',
    "The pool of Postgres has no listener for 'error'. An idle connection that breaks then ends this process. " +
      "Write pool.on('error', (error) => log(error)).",
    'postgres',
  )
}

/** Ignores the `error` event of a lost connection, because the query on that connection rejects with the same error. */
const ignore = (): void => {}
const yes = (): boolean => true
const no = (): boolean => false

/**
 * Gets a connection, or rejects if the pool takes longer than `longest`. A connection that comes after the rejection is given back to the
 * pool. A server can end a new connection at once, so the connection has a listener of errors before this function returns to the pool.
 */
function connected(pool: PostgresPool, longest: number): Promise<PostgresClient> {
  return new Promise((resolve, reject) => {
    let tooLate = false
    const tooLong = () => {
      tooLate = true
      reject(errorOf(new Error(`no connection within ${longest} ms`)))
    }
    const timer = setTimeout(tooLong, Math.min(longest, longestSleep))
    const lent = (error: unknown, client?: PostgresClient): void => {
      clearTimeout(timer)
      if (client === undefined) reject(errorOf(error))
      else if (tooLate) client.release()
      else resolve(client)
      if (!tooLate) client?.on('error', ignore)
    }
    const later = pool.connect(lent)
    if (isPromise(later)) later.then((client) => lent(undefined, client as PostgresClient), lent) // a pool without callbacks
  })
}
