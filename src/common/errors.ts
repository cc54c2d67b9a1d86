/**
 * The stable code of an error. A code never changes its meaning, but a message may change.
 *
 * Constructors throw these codes, when an application configures something:
 *
 * - `HEADGATE_LIMIT`: a policy's `limit` is not a whole number from 0 to 2^53 - 1.
 * - `HEADGATE_WINDOW`: a policy's `window`, `lease`, `per` or `warmup` is not from 1 ms to 366 days.
 * - `HEADGATE_BURST`: a policy's `burst`, `maxBurst` or `maxStored` is out of range.
 * - `HEADGATE_SEGMENTS`: the `segments` of a segmented window are not from 1 to 1000.
 * - `HEADGATE_NAME`, `HEADGATE_SCOPE`: a name or a scope is not 1 to 128 printable ASCII characters.
 * - `HEADGATE_CALENDAR`: a calendar has an unknown period, anchor or time zone. A call rejects with this code if the call does not give
 *   the calendar for which a policy asks, or gives a calendar for which no policy asks.
 * - `HEADGATE_INEXACT`: a policy cannot be counted exactly in integers below 2^53.
 * - `HEADGATE_RATE`: a rate is not a positive, finite number, or is too slow to be counted exactly.
 * - `HEADGATE_POLICY`: a policy is written in an unknown form, or a store does not know the algorithm of a policy.
 *   `limitMessages` also throws this code, and `acquire` of a pacer rejects with it, for a policy that counts units in flight.
 * - `HEADGATE_POLICY_FILE`: a policy file cannot be read, is not JSON, is not a policy file, or lacks a limiter or a plan.
 * - `HEADGATE_PENALTY`: an option of a penalty is out of range, or a middleware counts only failures and its penalty counts
 *   refusals, or a middleware has `delay` and its penalty has `restart`.
 * - `HEADGATE_CANDIDATE`: a candidate cannot be tried beside the current policies, because it has another scope, counts units in flight, or
 *   asks calls for another calendar.
 * - `HEADGATE_DUPLICATE_POLICY`: two policies of a limiter have the same name.
 * - `HEADGATE_DUPLICATE_LIMITER`: two limiters on a store have the same name.
 * - `HEADGATE_OPTION`: an option does not exist, or its value is invalid.
 * - `HEADGATE_CLOCK`: a clock does not return whole microseconds.
 * - `HEADGATE_VERSION`: a framework, a client of a store or another package that is used with headgate is too old. A request may
 *   also fail with this code.
 * - `HEADGATE_STATE_SIZE`: the states of a key need more bytes than the store can hold. A call may also reject with this code.
 *
 * Every method that takes a key may reject with these codes, and `consumeSync` may throw them:
 *
 * - `HEADGATE_COST`: the option `cost`, or the argument of `settle`, is not a whole number in its range.
 * - `HEADGATE_KEY`: the key is not a string, and not a record with a string for each scope.
 * - `HEADGATE_STORE_UNAVAILABLE`: the store failed, and `onStoreError` is `'closed'`. `cause` is the store's error. `retryAfter`
 *   is the time in milliseconds until a new attempt makes sense. It is not known whether the call counted.
 *
 * Some methods also reject with these codes:
 *
 * - `HEADGATE_BAN`: the duration or the reason of `ban` is invalid, or a store in memory has too many bans.
 * - `HEADGATE_OVERRIDE`: an override is invalid, contradicts another override, or exceeds the number or size that a limiter may have.
 * - `HEADGATE_MAX_WAIT`: the `maxWait` of `reserve` is not from 0 to 366 days.
 * - `HEADGATE_RESERVATIONS`: a key has too many open reservations that give their units back when they expire.
 * - `HEADGATE_ASYNC_STORE`: `consumeSync` was called on a store that returns promises.
 * - `HEADGATE_UNSUPPORTED`: the store does not support the method. Example: `clear` on a store that cannot list its keys. Or the store
 *   cannot try a list of costs in one step.
 * - `HEADGATE_HEADERS_SENT`: a middleware refused a request whose response had already begun.
 * - `HEADGATE_NO_END`: a limit with `count` or units in flight cannot see the end of a request, because `apply` of a limiter for fetch
 *   handlers got a response that only passes the request on.
 * - `HEADGATE_THROWN`: a function in the options of a middleware threw a value that is not an Error. `cause` is that value.
 * - `HEADGATE_FUNCTION_TIMEOUT`: a function in the options of a middleware did not answer within `functionTimeout`.
 *
 * A store rejects with these codes. A method of the limiter then rejects with `HEADGATE_STORE_UNAVAILABLE`, and its `cause` is
 * the error of the store:
 *
 * - `HEADGATE_STORE_TIMEOUT`: the store did not respond within its `timeout`. If `uncounted` is true, the call did not count.
 *   Otherwise, it is not known whether the call counted. `cause` is the error of the store's client, such as a refused connection, if
 *   the client gave an error.
 * - `HEADGATE_STORE`: the store failed. `cause` is the error of the store's client.
 * - `HEADGATE_STORE_RECORD`: the record that the store has saved for this key has another format, such as a state of an unknown kind, or
 *   differs from the record that this call wrote. Only this key is affected. `reset` deletes the record.
 *
 * `acquire`, `reserve` and `throttle` of a pacer also reject with these codes:
 *
 * - `HEADGATE_QUEUE_FULL`: as many calls as the pacer allows are waiting already.
 * - `HEADGATE_TIMEOUT`: the call could not start, or cannot start, within its `timeout`.
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
  | 'HEADGATE_CALENDAR'
  | 'HEADGATE_INEXACT'
  | 'HEADGATE_POLICY'
  | 'HEADGATE_POLICY_FILE'
  | 'HEADGATE_PENALTY'
  | 'HEADGATE_CANDIDATE'
  | 'HEADGATE_DUPLICATE_POLICY'
  | 'HEADGATE_DUPLICATE_LIMITER'
  | 'HEADGATE_OPTION'
  | 'HEADGATE_COST'
  | 'HEADGATE_KEY'
  | 'HEADGATE_BAN'
  | 'HEADGATE_OVERRIDE'
  | 'HEADGATE_MAX_WAIT'
  | 'HEADGATE_RESERVATIONS'
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

/** The address of the documentation. A test compares the address with `homepage` of package.json. */
const site = 'https://headgate.github.io/headgate'

interface CountedScopes {
  readonly counted: readonly string[]
  readonly uncounted: readonly string[]
}

/** The only class of errors that headgate throws, for invalid use and failing stores. A refused call is a decision, not an error. */
export class HeadgateError extends Error {
  readonly code: ErrorCode
  /** The address of the documentation page about this code, with the cause and the fix. Node prints this address with the error. */
  readonly help: string
  /** With the code `HEADGATE_STORE_UNAVAILABLE`: the milliseconds until a new attempt makes sense. Undefined with other codes. */
  declare readonly retryAfter?: number
  /** In an error of a store: true if the call certainly did not count. Undefined if the call may have counted. */
  declare readonly uncounted?: true
  /**
   * In an error of a store with several parts, such as the nodes of Redis Cluster: the names of the parts that failed. Empty if
   * all parts answered. Undefined if the failed parts are not known.
   */
  declare readonly shards?: readonly string[]

  /**
   * In an error of a store, if a call was executed in some scopes (kinds of key) and not in others: the scopes in which it certainly was
   * (`counted`), and those in which it certainly was not. A scope in neither list is in doubt. For `settle`, `refund`, `reset` and bans.
   */
  declare readonly scopes?: CountedScopes

  /** @param message a sentence with the cause, then a sentence with the fix */
  constructor(
    code: ErrorCode,
    message: string,
    options?: ErrorOptions & {
      retryAfter?: number
      uncounted?: boolean
      shards?: readonly string[] | undefined
      scopes?: CountedScopes
    },
  ) {
    super(message, options)
    this.name = 'HeadgateError'
    this.code = code
    this.help = `${site}/errors/${code}`
    if (options?.retryAfter !== undefined) this.retryAfter = options.retryAfter
    if (options?.uncounted) this.uncounted = true
    if (options?.shards !== undefined) this.shards = options.shards
    if (options?.scopes !== undefined) this.scopes = options.scopes
  }

  /** All fields, the message, and the message of `cause`: for health checks and logs. JSON would leave out the messages. */
  toJSON(): object {
    const { message, cause } = this
    return { ...this, message, ...(cause instanceof Error && { cause: cause.message }) }
  }
}

/** The error for an invalid value of an option or of another argument. @param fix a complete sentence */
export function invalidOption(
  option: string,
  expected: string,
  value: unknown,
  fix: string,
  code: ErrorCode = 'HEADGATE_OPTION',
): HeadgateError {
  return new HeadgateError(code, `${option} must be ${expected}, got ${shown(value)}. ${fix}`)
}

/**
 * The error for a package that is too old.
 * @param entry the part of headgate that needs the package
 * @param name the name of the package on npm
 */
export function tooOld(entry: string, name: string, lowest: string): HeadgateError {
  const fix = `Run npm install ${name}@latest.`
  return new HeadgateError('HEADGATE_VERSION', `${entry} needs ${name} ${lowest} or later. ${fix}`)
}

/** The error if a framework calls a middleware of another framework. @param entry the import path of the middleware */
export function misplaced(entry: string): HeadgateError {
  return new HeadgateError(
    'HEADGATE_OPTION',
    `A middleware of ${entry} was called by another framework, which passes it other arguments. Write import { rateLimit } from the ` +
      "entry point of that framework, such as 'headgate/express', 'headgate/koa', 'headgate/fastify' or 'headgate/hono'.",
  )
}

/** The error if `consumeSync` is called on a store that returns promises. */
export function needsPromise(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_ASYNC_STORE',
    'consumeSync needs a synchronous store, such as memoryStore(). Use await limiter.consume(key).',
  )
}

/** The error for a failed store. @param store the name of the store @param cause the error of the store's client */
export function storeError(store: string, cause: unknown): HeadgateError {
  if (cause instanceof HeadgateError) return cause
  const reason = cause instanceof Error ? cause.message : String(cause)
  return new HeadgateError('HEADGATE_STORE', `${store} failed: ${reason}`, { cause })
}

/** True if the error says that this version cannot read the record that the store has saved for a key. */
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
  alternatives:
    'cannot try a list of costs in one step. Use a memory store, redisStore, postgresStore or sqliteStore, or make a call for each cost.',
  override:
    'cannot keep overrides. Use a memory store, redisStore, postgresStore, sqliteStore or clusterStore, or give your store documents ' +
    '(headgate/store).',
  ban: 'cannot ban keys. Use a memory store, redisStore, postgresStore, sqliteStore or memcachedStore.',
}

/** The error for a verb, such as `ban` or `clear`, that the store does not support. */
export function unsupported(verb: string): HeadgateError {
  const fix = without[verb === 'unban' ? 'ban' : verb] ?? `has no ${verb}. Use another store.`
  return new HeadgateError('HEADGATE_UNSUPPORTED', `This store ${fix}`)
}

/** Does the same as `shown`, and names some properties of an object. */
export function shownWithNames(value: unknown): string {
  const names = typeof value === 'object' && value !== null && !Array.isArray(value) ? Object.keys(value) : []
  return `${shown(value)}${names.length > 0 ? ` with ${names.slice(0, 5).map(shown).join(' and ')}` : ''}`
}

/** A short text of a value, for error messages. No code of the value is called, such as `toString`. */
export function shown(value: unknown): string {
  if (typeof value === 'string') return JSON.stringify(value.length > 60 ? `${value.slice(0, 60)}...` : value)
  if (typeof value === 'object' && value !== null) return Array.isArray(value) ? 'an array' : 'an object'
  if (typeof value === 'bigint') return `${value}n`
  return typeof value === 'function' ? 'a function' : String(value)
}
