/**
 * The stable code of an error. A code never changes its meaning; messages may change.
 *
 * Thrown by constructors, when something is configured:
 *
 * - `HEADGATE_LIMIT`: a policy's `limit` is not a whole number from 0 to 2^53 - 1.
 * - `HEADGATE_WINDOW`: a policy's `window`, `lease`, `per` or `warmup` is not from 1 ms to 366 days.
 * - `HEADGATE_BURST`: a policy's `burst`, `maxBurst` or `maxStored` is out of range.
 * - `HEADGATE_SEGMENTS`: the `segments` of a segmented window are not from 1 to 1000.
 * - `HEADGATE_NAME`, `HEADGATE_SCOPE`: a name or a scope is not 1 to 128 printable ASCII characters.
 * - `HEADGATE_INEXACT`: the policy cannot be counted exactly in integers below 2^53.
 * - `HEADGATE_RATE`: a rate is not a positive, finite number, or is too slow to be counted exactly.
 * - `HEADGATE_POLICY`: a policy is written in an unknown form, or a store does not know its algorithm. Also thrown by
 *   `limitMessages`, and rejects `acquire` of a pacer, for a policy that counts units in flight.
 * - `HEADGATE_PENALTY`: an option of a penalty is out of range.
 * - `HEADGATE_DUPLICATE_POLICY`: two policies of a limiter have the same name.
 * - `HEADGATE_DUPLICATE_LIMITER`: two limiters on a store have the same name.
 * - `HEADGATE_OPTION`: an option does not exist, or its value is invalid.
 * - `HEADGATE_CLOCK`: a clock does not return whole microseconds.
 * - `HEADGATE_VERSION`: a package that is used with headgate, such as a framework or a client, is too old. Also rejects a request.
 * - `HEADGATE_STATE_SIZE`: the states of a key need more bytes than the store can hold. Also rejects a call.
 *
 * A call of any verb rejects with (and `consumeSync` throws):
 *
 * - `HEADGATE_COST`: `cost`, or the actual cost given to `settle`, is not a whole number in range.
 * - `HEADGATE_KEY`: the key is not a string, or lacks the string of a scope.
 * - `HEADGATE_STORE_UNAVAILABLE`: the store failed, and `onStoreError` is `'closed'`. `cause` is the store's error, and
 *   `retryAfter` the milliseconds until a new attempt makes sense. The call may or may not have counted.
 *
 * Some verbs also reject with:
 *
 * - `HEADGATE_BAN`: the duration or the reason of `ban` is invalid, or a store in memory has too many bans.
 * - `HEADGATE_MAX_WAIT`: the `maxWait` of `reserve` is not from 0 to 366 days.
 * - `HEADGATE_ASYNC_STORE`: `consumeSync` was called on a store that returns promises.
 * - `HEADGATE_UNSUPPORTED`: the store cannot do it, such as `clear` on a store that cannot forget all keys.
 * - `HEADGATE_HEADERS_SENT`: a middleware refused a request whose response had already begun.
 * - `HEADGATE_NO_END`: `apply` of `headgate/fetch` got a response that only passes the request on, and the limit has `count`
 *   or units in flight.
 * - `HEADGATE_THROWN`: a function in the options of a middleware threw a value that is no Error. `cause` is that value.
 * - `HEADGATE_FUNCTION_TIMEOUT`: a function in the options of a middleware did not answer within `functionTimeout`.
 *
 * A store rejects with these, which a verb shows as the `cause` of `HEADGATE_STORE_UNAVAILABLE`:
 *
 * - `HEADGATE_STORE_TIMEOUT`: the store did not respond within its `timeout`. With `uncounted`, nothing was written. Else it is not
 *   known whether the call counted. `cause` is the client's own error, if it has one, such as a connection that is refused.
 * - `HEADGATE_STORE`: the store failed. `cause` is the error of its client.
 * - `HEADGATE_STORE_RECORD`: what the store has under this key is not a record that this version reads, such as a state of a kind that
 *   it does not know, or is not what this call should have written there. The error concerns that key alone. `reset` deletes it.
 *
 * `acquire`, `reserve` and `throttle` of a pacer also reject with:
 *
 * - `HEADGATE_QUEUE_FULL`: as many calls wait already as the pacer allows.
 * - `HEADGATE_TIMEOUT`: the call cannot go, or did not go, within its `timeout`.
 * - `HEADGATE_RUN_TIMEOUT`: the function ran for longer than its `runTimeout`. Its units are spent.
 * - `HEADGATE_CLOSED`: the pacer was closed.
 */
export type ErrorCode =
  | 'HEADGATE_LIMIT'
  | 'HEADGATE_WINDOW'
  | 'HEADGATE_BURST'
  | 'HEADGATE_SEGMENTS'
  | 'HEADGATE_NAME'
  | 'HEADGATE_SCOPE'
  | 'HEADGATE_INEXACT'
  | 'HEADGATE_POLICY'
  | 'HEADGATE_PENALTY'
  | 'HEADGATE_DUPLICATE_POLICY'
  | 'HEADGATE_DUPLICATE_LIMITER'
  | 'HEADGATE_OPTION'
  | 'HEADGATE_COST'
  | 'HEADGATE_KEY'
  | 'HEADGATE_BAN'
  | 'HEADGATE_MAX_WAIT'
  | 'HEADGATE_HEADERS_SENT'
  | 'HEADGATE_NO_END'
  | 'HEADGATE_THROWN'
  | 'HEADGATE_FUNCTION_TIMEOUT'
  | 'HEADGATE_CLOCK'
  | 'HEADGATE_VERSION'
  | 'HEADGATE_ASYNC_STORE'
  | 'HEADGATE_UNSUPPORTED'
  | 'HEADGATE_STATE_SIZE'
  | 'HEADGATE_STORE_TIMEOUT'
  | 'HEADGATE_STORE'
  | 'HEADGATE_STORE_RECORD'
  | 'HEADGATE_STORE_UNAVAILABLE'
  | 'HEADGATE_RATE'
  | 'HEADGATE_QUEUE_FULL'
  | 'HEADGATE_TIMEOUT'
  | 'HEADGATE_RUN_TIMEOUT'
  | 'HEADGATE_CLOSED'

/** The address of the site. A test compares it with `homepage` of package.json. */
const site = 'https://headgate.github.io/headgate'

/** The only error that this package throws: for misuse and broken I/O. A refused call is no error, but a decision. */
export class HeadgateError extends Error {
  readonly code: ErrorCode
  /** The address of the page about this code, with its cause and the fix. Node prints it with the error. */
  readonly help: string
  /** With `HEADGATE_STORE_UNAVAILABLE`: milliseconds until a new attempt makes sense. Else undefined. */
  declare readonly retryAfter?: number
  /** With an error of a store: true if the call certainly did not count. Else undefined. */
  declare readonly uncounted?: true
  /**
   * With an error of a store in parts: the parts that failed, such as the address of a node of Redis Cluster; none if each of
   * them answered. Undefined if that is not known.
   */
  declare readonly shards?: readonly string[]

  /** @param message a sentence with what is wrong, then a sentence with the fix */
  constructor(
    code: ErrorCode,
    message: string,
    options?: ErrorOptions & { retryAfter?: number; uncounted?: boolean; shards?: readonly string[] | undefined },
  ) {
    super(message, options)
    this.name = 'HeadgateError'
    this.code = code
    this.help = `${site}/errors/${code}`
    if (options?.retryAfter !== undefined) this.retryAfter = options.retryAfter
    if (options?.uncounted) this.uncounted = true
    if (options?.shards !== undefined) this.shards = options.shards
  }
}

/** The error for an option, or another argument, with a wrong value. @param fix a whole sentence */
export function invalidOption(
  option: string,
  expected: string,
  value: unknown,
  fix: string,
  code: ErrorCode = 'HEADGATE_OPTION',
): HeadgateError {
  return new HeadgateError(code, `${option} must be ${expected}, got ${shown(value)}. ${fix}`)
}

/** The error for a package that is too old. @param entry what needs the package @param name as npm knows it */
export function tooOld(entry: string, name: string, lowest: string): HeadgateError {
  const fix = `Run npm install ${name}@latest.`
  return new HeadgateError('HEADGATE_VERSION', `${entry} needs ${name} ${lowest} or later. ${fix}`)
}

/** The error for a middleware that another framework called. @param entry what the middleware was imported from */
export function misplaced(entry: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `A middleware of ${entry} was called by another framework, which passes it other arguments. Write import { rateLimit } from the ` +
      "entry point of that framework, such as 'headgate/express', 'headgate/koa', 'headgate/fastify' or 'headgate/hono'.",
  )
}

/** The error for a store that failed. @param store the store's name @param cause what the store's client threw */
export function storeError(store: string, cause: unknown): HeadgateError {
  if (cause instanceof HeadgateError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new HeadgateError('HEADGATE_STORE', `${store} failed: ${reason}`, { cause })
}

/** True if what the store has under a key is no record of this version. */
export function isBrokenRecord(error: unknown): boolean {
  return error instanceof HeadgateError && error.code === 'HEADGATE_STORE_RECORD'
}

const without: Readonly<Record<string, string>> = {
  clear:
    'cannot list the keys of a limiter, so it cannot forget all of them. Reset single keys, or give the limiter another name.',
  inspect:
    'cannot show what it keeps of a key. Use peek(key), or let its ledgers run the verb inspect (headgate/store).',
  scan:
    'cannot list its keys: Memcached, for one, has no command for it. Use inspect(key), or keep the keys in a memory store, ' +
    'Redis, Postgres or SQLite.',
  ban: 'cannot ban keys. Use a memory store, redisStore, postgresStore, sqliteStore or memcachedStore.',
}

/** The error for a verb that a ledger does not have. */
export function unsupported(verb: string): HeadgateError {
  const fix = without[verb === 'unban' ? 'ban' : verb] ?? `has no ${verb}. Use another store.`
  return new HeadgateError('HEADGATE_UNSUPPORTED', `This store ${fix}`)
}

/** A value as an error message shows it: short, and without calling any code of the value. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  return typeof value === 'function' ? 'a function' : String(value)
}
