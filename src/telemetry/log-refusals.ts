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
  readOptions,
  reason,
  warnOnce,
  whole,
} from '../common/index.ts'
import type { Key, LimiterCallEvent, Units } from '../limiter/index.ts'
import { keyName } from '../stores/memory/index.ts'
import { policyOf, resultOf } from './result.ts'

/** The fields of a logged refusal. */
export interface RefusalFields {
  readonly limiter: string
  /** The policy that refused. Absent if the store could not decide. */
  readonly policy?: string
  /** `'shadow'` if the refusal was not enforced. `'error'` if the store failed and the call was rejected. */
  readonly result: 'refused' | 'banned' | 'shadow' | 'error'
  /** Who was refused, in the form that the option `key` says. A record if the call's key is a record. */
  readonly key?: Key
  readonly cost: Units
  /** The limit of the policy. */
  readonly limit?: number
  /** In milliseconds. Absent if the cost can never be admitted. */
  readonly retryAfter?: number
  /** Why the key was banned by hand, if a reason was given. */
  readonly reason?: string
  /** How many refusals of this key the line stands for: all since the last line of the key, including this one. */
  readonly refusals: number
  /** How many refusals since the last line were left out because of `maxLines`. Absent if none was left out. */
  readonly unlogged?: number
}

/** How a line is written: with pino `logger.warn(fields, message)`, with winston `logger.warn(message, fields)`. */
type WriteLine = (fields: RefusalFields, message: string) => unknown

/** The options of `logRefusals`. */
export interface LogRefusalsOptions {
  /** A logger of pino or the console, or a function. Example: `(fields, message) => winston.warn(message, fields)`. */
  logger: { warn: WriteLine } | WriteLine
  /** The shortest time between two lines of one key. Default `'10s'`. The first refusal of a key is logged at once. */
  sample?: Duration
  /** The most lines within the time of `sample`, over all keys. Default 100. */
  maxLines?: number
  /**
   * How the key is logged. `'hash'` (default) gives each key its own hash and hides the key. `'plain'` shows keys, so
   * API keys, tokens and addresses are in the log. `'none'` leaves keys out.
   */
  key?: 'hash' | 'plain' | 'none'
  /** The secret of the hashes. Default: random, so the hashes differ between processes and after a restart. */
  secret?: string
  /** Whole microseconds since the epoch. Default: a monotonic clock. Pass one in tests. */
  clock?: Clock
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

/** The most keys whose last line is remembered, at about 300 bytes each. A forgotten key is logged at once again. */
const maxKeys = 10_000

/**
 * Logs the refusals of every limiter and middleware of this process, sampled for each key. Returns a function that
 * stops the logging. Refusals are read from a diagnostics channel, so nothing is logged in runtimes without channels.
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
  /** When the last line of the key was written, in microseconds. */
  at: number
  /** The refusals of the key since its last line. */
  refusals: number
}

class RefusalLog {
  readonly #write: WriteLine
  readonly #interval: number
  readonly #maxLines: number
  readonly #shownKey: ((key: string) => string) | undefined
  readonly #clock: Clock
  readonly #keys = new LRUCache<string, Sampled>({ max: maxKeys })
  /** When the interval began in which lines are counted, and how many lines it has. */
  #since = -Infinity
  #lines = 0
  #unlogged = 0

  constructor(options: LogRefusalsOptions) {
    const read = readOptions('logRefusals', options, readers)
    const { logger, sample, maxLines, key, secret = randomSecret(), clock } = read
    this.#write = typeof logger === 'function' ? logger : (fields, message) => logger.warn(fields, message)
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
    // A clock that went back must not silence a key.
    if (known !== undefined && known.at <= now) return known
    const begun = { at: -Infinity, refusals: 0 }
    this.#keys.set(id, begun)
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
      // An asynchronous logger may reject later.
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

/** The name under which a key is remembered. A long key is remembered as its digest. */
function nameOf(key: Key): string {
  return keyName(typeof key === 'string' ? key : JSON.stringify(key))
}

/** Shows a key in the given form. A hash has 72 bits and a secret: nobody finds an address by hashing all addresses. */
function shownBy(form: 'hash' | 'plain' | 'none', secret: string): ((key: string) => string) | undefined {
  if (form === 'plain') return (key) => key
  if (form === 'none') return undefined
  return (key) => `#${base64(hmacSha256(secret, key).subarray(0, 9))}`
}

function randomSecret(): string {
  return [...randomWords(), ...randomWords()].join(' ')
}
