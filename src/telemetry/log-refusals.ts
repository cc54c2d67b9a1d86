import { LRUCache } from 'lru-cache'
import { channel, hmacSha256, randomWords } from '#platform'
import {
  base64,
  type Clock,
  check,
  clockOr,
  type Duration,
  duration,
  isPromise,
  monotonicClock,
  oneOf,
  optional,
  ownText,
  readOptions,
  reason,
  warnOnce,
  whole,
} from '../common/index.ts'
import type { Key, LimiterCallEvent, Units } from '../limiter/index.ts'
import { keyName } from '../stores/memory/index.ts'
import { policyOf, resultOf } from './result.ts'

/** The fields of a log line about refusals. */
export interface RefusalFields {
  readonly limiter: string
  /** The name of the policy that refused. Absent if the store failed, so that no policy could decide. */
  readonly policy?: string
  /** `'shadow'`: the refusal was not enforced. `'error'`: the store failed, and so the call was rejected. */
  readonly result: 'refused' | 'banned' | 'shadow' | 'error'
  /**
   * The key that was refused, in the form that the option `key` selects. If the call passed an object with a key for each scope (such as
   * user and address), `key` is such an object too.
   */
  readonly key?: Key
  readonly cost: Units
  /** The limit of the policy that refused. Absent if the store failed. */
  readonly limit?: number
  /** Milliseconds until the call can be admitted. Absent if its cost can never be admitted. */
  readonly retryAfter?: number
  /** The reason that was given when `ban` was called for the key. Absent without a reason. */
  readonly reason?: string
  /** How many refusals of this key by this policy the line reports: all refusals since the last such line, including this refusal. */
  readonly refusals: number
  /** How many refusals of any key were not logged since the last line, because of `maxLines`. Absent if every refusal was logged. */
  readonly unlogged?: number
}

/** A function that writes a line. With pino `logger.warn(fields, message)`; with winston `logger.warn(message, fields)`. */
type WriteLine = (fields: RefusalFields, message: string) => unknown

/** The options of `logRefusals`. */
export interface LogRefusalsOptions {
  /**
   * A logger of pino, the console (which gets one line of text with JSON), or a function. Example:
   * `(fields, message) => winston.warn(message, fields)`.
   */
  logger: { warn: WriteLine } | WriteLine
  /** The shortest time between two lines about the same key and policy, in milliseconds or as text. Default `'10s'`. */
  sample?: Duration | undefined
  /** The most lines during the time of `sample`, for all keys together. Default 100. */
  maxLines?: number | undefined
  /**
   * How the key is logged. `'hash'` (default) logs a hash of the key, which hides the key. `'plain'` logs the key
   * itself, so API keys, tokens and addresses are in the log. `'none'` leaves the key out.
   */
  key?: 'hash' | 'plain' | 'none' | undefined
  /** The secret for the hashes. Default: random, so a key has another hash in another process and after a restart. */
  secret?: string | undefined
  /** Returns whole microseconds since the epoch. Default: a monotonic clock. Pass a manual clock in tests. */
  clock?: Clock | undefined
}

const canLog = (given: unknown) =>
  typeof given === 'function' || typeof Reflect.get(Object(given), 'warn') === 'function'
const isSecret = (given: unknown) => typeof given === 'string' && given !== ''
const readers = {
  logger: check(canLog, 'a logger with warn(), or a function', '(fields, message) => winston.warn(message, fields)'),
  sample: duration('10s'),
  maxLines: whole(100),
  key: oneOf('hash', 'plain', 'none'),
  secret: optional(check<string>(isSecret, 'a text', 'process.env.LOG_SECRET')),
  clock: clockOr(monotonicClock),
}

/** The most keys whose last line is remembered, at about 300 bytes each. Beyond this number, the least recently used key is forgotten. */
const maxKeys = 10_000

/**
 * Logs the refusals of every limiter and middleware of this process, at most one line for each key and policy during the time of `sample`.
 * Returns a function that stops the logging. Without diagnostics channels in the runtime, nothing is logged.
 *
 * ```js
 * const stop = logRefusals({ logger: pino(), sample: '10s' })
 * ```
 * @throws HeadgateError `HEADGATE_OPTION` or `HEADGATE_CLOCK` if an option is invalid
 */
export function logRefusals(options: LogRefusalsOptions): () => void {
  const log = new RefusalLog(options)
  const listener = (event: unknown) => log.called(event as LimiterCallEvent)
  const calls = channel('headgate:limiter:call')
  calls.subscribe(listener)
  return () => void calls.unsubscribe(listener)
}

interface Sampled {
  /** When the last line about the key was written, in microseconds. */
  at: number
  /** How many refusals of the key came since the key's last line. */
  refusals: number
}

class RefusalLog {
  readonly #write: WriteLine
  readonly #interval: number
  readonly #maxLines: number
  readonly #shownKey: ((key: string) => string) | undefined
  readonly #clock: Clock
  readonly #keys = new LRUCache<string, Sampled>({ max: maxKeys })
  /** When the present interval of `sample` began, in microseconds. `#lines` counts the lines since that time. */
  #since = -Infinity
  #lines = 0
  #unlogged = 0

  constructor(options: LogRefusalsOptions) {
    const read = readOptions('logRefusals', options, readers)
    const { logger, sample, maxLines, key, secret = randomSecret(), clock } = read
    this.#write = writerOf(logger)
    this.#interval = sample * 1000
    this.#maxLines = maxLines
    this.#shownKey = shownBy(key, secret)
    this.#clock = clock
  }

  called(event: LimiterCallEvent): void {
    const { decision } = event
    if (decision?.allowed) return
    const now = this.#clock()
    const key = this.#sampled(`${event.limiter}\n${policyOf(event) ?? ''}\n${nameOf(event.key)}`, now)
    key.refusals++
    if (now - key.at < this.#interval) return
    if (!this.#mayWrite(now)) {
      this.#unlogged++
      key.refusals--
      return
    }
    this.#writeLine(event, key.refusals)
    key.at = now
    key.refusals = 0
  }

  #sampled(id: string, now: number): Sampled {
    const known = this.#keys.get(id)
    // If the clock went back to a time before the key's last line, the key is handled as a new key. Otherwise the refusals of
    // the key would not be logged until the clock passes that time.
    if (known !== undefined && known.at <= now) return known
    const begun = { at: -Infinity, refusals: 0 }
    this.#keys.set(ownText(id), begun)
    return begun
  }

  #mayWrite(now: number): boolean {
    if (now - this.#since >= this.#interval || now < this.#since) {
      this.#since = now
      this.#lines = 0
    }
    return this.#lines++ < this.#maxLines
  }

  #writeLine(event: LimiterCallEvent, refusals: number): void {
    const { limiter, cost, decision } = event
    const policy = policyOf(event)
    const result = resultOf(event) as RefusalFields['result']
    const fields: RefusalFields = {
      limiter,
      ...(policy !== undefined && { policy }),
      result,
      ...this.#keyOf(event.key),
      cost,
      ...(decision !== undefined && { limit: decision.limit }),
      ...(decision !== undefined && decision.retryAfter < Infinity && { retryAfter: decision.retryAfter }),
      ...(decision?.ban?.reason !== undefined && { reason: decision.ban.reason }),
      refusals,
      ...(this.#unlogged > 0 && { unlogged: this.#unlogged }),
    }
    this.#unlogged = 0
    try {
      const written = this.#write(fields, messages[result])
      // A logger that is asynchronous may reject later.
      if (isPromise(written)) Promise.resolve(written).then(undefined, loggerFailed)
    } catch (error) {
      loggerFailed(error)
    }
  }

  #keyOf(key: Key): { key?: Key } {
    const shown = this.#shownKey
    if (shown === undefined) return {}
    if (typeof key === 'string') return { key: shown(key) }
    return { key: Object.fromEntries(Object.entries(key).map(([scope, own]) => [scope, shown(own)])) }
  }
}

/** The console gets one text, because the console would print an object as several lines, one for each field. */
function writerOf(logger: LogRefusalsOptions['logger']): WriteLine {
  if (typeof logger === 'function') return logger
  if (logger === console) return (fields, message) => console.warn(`${message} ${JSON.stringify(fields)}`)
  return (fields, message) => logger.warn(fields, message)
}

function loggerFailed(error: unknown): void {
  const message = `The logger of logRefusals failed, so refusals are not logged. ${reason(error)}`
  warnOnce('HEADGATE_HOOK', message, 'logger')
}

const messages: Readonly<Record<RefusalFields['result'], string>> = {
  refused: 'rate limit: refused',
  banned: 'rate limit: banned',
  shadow: 'rate limit: would refuse',
  error: 'rate limit: the store failed',
}

/** The text under which a key is remembered: the key itself, or a digest of a long key. */
function nameOf(key: Key): string {
  return keyName(typeof key === 'string' ? key : JSON.stringify(key))
}

/**
 * Returns a function that writes a key in the form `form`. A hash has 72 bits and depends on the secret: without the secret,
 * nobody can find an address by hashing all addresses.
 */
function shownBy(form: 'hash' | 'plain' | 'none', secret: string): ((key: string) => string) | undefined {
  if (form === 'plain') return (key) => key
  if (form === 'none') return undefined
  return (key) => `#${base64(hmacSha256(secret, key).subarray(0, 9))}`
}

function randomSecret(): string {
  return [...randomWords(), ...randomWords()].join(' ')
}
