import { forever } from '../algorithms/bans/index.ts'
import {
  check,
  type Duration,
  HeadgateError,
  milliseconds,
  optional,
  readOptions,
  warnOfSeconds,
} from '../common/index.ts'
import { type Inspection, inspectionOf } from '../inspection/index.ts'
import type { Health, Store } from '../stores/contract/index.ts'
import { type Key, keysOf, someKeysOf } from './call-arguments.ts'
import type { HeavyKey, TopOptions } from './heaviest/index.ts'
import { type ListedKey, type ListOptions, list, type ShownLimiter } from './list-keys.ts'
import type { Plans } from './plans.ts'

export interface BanOptions {
  /** Why the key is banned, in at most 200 characters. Shown in `decision.ban`, and never in a response. */
  reason?: string
}

/** The verbs of an operator: they show, ban and forget keys. */
export abstract class Operations<Limiter extends object> {
  readonly name: string
  readonly store: Store
  protected readonly plans: Plans<Limiter>
  /** The ledger and the policies that the verbs work on. */
  protected abstract get opened(): ShownLimiter

  constructor(plans: Plans<Limiter>) {
    this.name = plans.options.name
    this.store = plans.options.store
    this.plans = plans
  }

  /**
   * The state of the key under each policy now, in words and numbers: why the key is refused, and for how long. Changes
   * nothing. A key that the store does not know has its full quota.
   *
   * Rejects with HeadgateError `HEADGATE_KEY` for an invalid key, `HEADGATE_UNSUPPORTED` on a store that cannot show its
   * keys, and with `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  async inspect(key: Key): Promise<Inspection> {
    const { ledger, scopes } = this.opened
    return inspectionOf(this.opened, await ledger.run({ verb: 'inspect', keys: keysOf(key, scopes) }))
  }

  /**
   * The keys below their full quota, each with its inspection. Keys are read a few at a time, so the store stays free
   * for other calls. A key that comes or goes during the scan may be missing. Example: `for await (const { key } of
   * limiter.list({ limit: 50 }))`. The iterator rejects with the store's error if the store fails, and with
   * HeadgateError `HEADGATE_UNSUPPORTED` on a store that cannot list its keys, such as Memcached.
   * @throws HeadgateError `HEADGATE_OPTION`
   */
  list(options?: ListOptions): AsyncGenerator<ListedKey, void, undefined> {
    return list(this.opened, options)
  }

  /**
   * Forgets the key: it has its full quota again under every policy.
   *
   * Rejects with HeadgateError `HEADGATE_KEY` for an invalid key, and with `HEADGATE_STORE_UNAVAILABLE` if the store fails
   * and `onStoreError` is `'closed'`.
   */
  async reset(key: Key): Promise<void> {
    return this.opened.ledger.run({ verb: 'reset', keys: keysOf(key, this.opened.scopes) })
  }

  /**
   * Bans a key by hand: `consume`, `reserve` and `peek` are refused until the ban ends, under every plan. A record of keys
   * may name some scopes only; a call is refused if any of its keys is banned. A second ban of a key replaces the first,
   * and `reset` lifts it. The decision has `ban`, its `policy` is `'ban'`, and nothing is counted.
   *
   *     await limiter.ban('203.0.113.7', '1h', { reason: 'scans for passwords' })
   *     await limiter.ban({ user: 'ann' }, Infinity) // until it is lifted
   *
   * @param duration milliseconds or text such as `'1h'`, at most 366 days; Infinity for a ban without an end
   *
   * Rejects with HeadgateError `HEADGATE_KEY` or `HEADGATE_BAN` for an invalid argument, with `HEADGATE_UNSUPPORTED` on a
   * store that cannot ban, and with the store's error if it fails. Then the key is banned in this process only, for as long
   * as it decides by itself (`onStoreError: 'local'`).
   */
  async ban(key: Key, duration: Duration, options?: BanOptions): Promise<void> {
    const keys = someKeysOf(key, this.opened.scopes)
    const reason = reasonOf(options)
    const ban = { duration: banTime(duration), ...(reason !== undefined && { reason }) }
    return this.opened.ledger.run({ verb: 'ban', keys, ban })
  }

  /**
   * Lifts the ban of a key, also one by the penalty, which then starts to count refusals at 0. The penalty's history
   * of past bans stays, and so do the units that the key has used.
   *
   * Rejects as `ban` does.
   */
  async unban(key: Key): Promise<void> {
    return this.opened.ledger.run({ verb: 'unban', keys: someKeysOf(key, this.opened.scopes) })
  }

  /**
   * Forgets every key of the limiter, under every plan. In Redis and Postgres it deletes them in steps, while other calls go on: a
   * key that is used meanwhile may stay.
   *
   * Rejects with HeadgateError `HEADGATE_UNSUPPORTED` on a store that cannot list its keys, such as Memcached, and with the
   * store's error if it fails.
   */
  async clear(): Promise<void> {
    return this.opened.ledger.run({ verb: 'clear', keys: [] })
  }

  /**
   * The health of the store, and how the calls so far were decided: the calls of this limiter, and of all limiters that
   * `withPlan` made from it.
   */
  health(): Health {
    return this.plans.health()
  }

  /**
   * The keys with the most calls in this process, the heaviest first, under every plan. A call is a `consume` or a
   * `reserve`. The counts begin with the limiter; `{ reset: true }` sets them to 0 after the answer. The first 8,192
   * calls are all counted. After that, the counts are estimates from a sample, and `standardError` says how exact they
   * are.
   *
   * Example: `limiter.top(3)` may return
   * `[{ key: '203.0.113.7', hashed: false, calls: 900, error: 0, standardError: 0, refused: 850, share: 0.9 }, ...]`.
   * @throws HeadgateError `HEADGATE_OPTION` for a limiter without the option `top`, or an invalid argument
   */
  top(count = 20, options: TopOptions = {}): readonly HeavyKey[] {
    const { heavyKeys } = this.plans.options
    if (heavyKeys !== undefined) return heavyKeys.top(count, options)
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'This limiter does not count the calls of its keys. Write new RateLimiter({ top: 1000, ... }).',
    )
  }
}

/** The duration in microseconds. */
function banTime(duration: Duration): number {
  if (duration === Infinity) return forever
  const time = milliseconds(duration, 'ban: duration', 'HEADGATE_BAN')
  warnOfSeconds(duration, 'ban: duration')
  return time * 1000
}

function reasonOf(options: BanOptions | undefined): string | undefined {
  if (options === undefined) return undefined
  return readOptions('ban', options, { reason: banReason }).reason
}

const banReason = optional(
  check<string>(
    (given) => typeof given === 'string' && given !== '' && given.length <= 200,
    'a text of 1 to 200 characters',
    "'abuse'",
    undefined,
    'HEADGATE_BAN',
  ),
)
