import type { Policy } from '../algorithms/index.ts'
import { allOf, type Duration, getOrInsert, HeadgateError, shown } from '../common/index.ts'
import { type Inspection, inspectionOf } from '../inspection/index.ts'
import type { AskLater, Match, Override, OverrideOptions, OverrideTarget, TargetLimiter } from '../overrides/index.ts'
import type { CheckedLedger, Health, Store } from '../stores/contract/index.ts'
import { type BanOptions, banTime, type Key, keysOrSomeOf, reasonOf, someKeysOf } from './call-arguments.ts'
import { runAlike, standIn } from './candidate/index.ts'
import type { HeavyKey, TopOptions } from './heaviest/index.ts'
import type { Load } from './limiter-events.ts'
import { inspectUnder, type ListedKey, type ListOptions, list, type ShownLimiter } from './list-keys.ts'
import type { Plans } from './plans.ts'
import { noStates } from './unlimited.ts'

/** The ledger and the policies under which a key is shown, the key of each scope, and the override that matches these keys. */
interface ShownKeys<Limiter extends object> extends ShownLimiter {
  readonly keys: readonly string[]
  readonly match: Match<Operations<Limiter>> | undefined
}

/** The methods for an administrator of the service, which show, ban and forget keys. */
export abstract class Operations<Limiter extends object> {
  readonly name: string
  readonly store: Store
  abstract readonly scopes: readonly string[]
  /** How many calls in this process have `concurrency` units now, and how many wait, under every plan: `{ inFlight: 3, waiting: 0 }`. */
  readonly load: Readonly<Load>
  protected readonly plans: Plans<Limiter>
  /** The results of `open`, by the names of the scopes. */
  readonly #opened = new Map<string, ShownLimiter>()
  /** The ledgers of the candidates, by the names of the scopes. */
  readonly #candidates = new Map<string, CheckedLedger>()

  constructor(plans: Plans<Limiter>) {
    this.name = plans.options.name
    this.store = plans.options.store
    this.plans = plans
    this.load = plans.load
  }

  /** Opens a ledger (access to the store) for some scopes, in the order of all scopes, with the policies under which a key is shown. */
  protected abstract open(scopes: readonly string[]): ShownLimiter

  /** Does the same as `open`, but opens a ledger only once for the same scopes. */
  protected opened(scopes: readonly string[] = this.scopes): ShownLimiter {
    return getOrInsert(this.#opened, scopes.join('\n'), () => this.open(scopes))
  }

  /** Makes `opened` open its ledgers again, because the policies have changed. */
  protected forgetOpened(): void {
    this.#opened.clear()
  }

  /** The policies of this limiter that are known so far, without a penalty. */
  protected abstract known(): readonly Policy[]

  /** What an override has to know of this limiter. */
  protected overridden(): TargetLimiter {
    return { scopes: this.scopes, policies: this.known() }
  }

  /** The limiter and the ledger that decide calls with these keys under overrides. Undefined if no override matches a key. */
  protected match(_keys: readonly (string | undefined)[]): Match<Operations<Limiter>> | undefined {
    return undefined
  }

  /** The ledger for the scopes that the key names, and the key of each of these scopes. @param later asks again when an override ends */
  protected under(key: Key, later?: (scopes: readonly string[]) => AskLater<never>): ShownKeys<Limiter> {
    const all = keysOrSomeOf(key, this.scopes)
    const scopes = this.scopes.filter((_, n) => all[n] !== undefined)
    const keys = all.filter((each) => each !== undefined)
    const match = this.match(all)
    if (match === undefined) return { ...this.opened(scopes), keys, match }
    const shown = match.limiter.opened(scopes)
    const ledger = match.naming(shown.ledger, later?.(scopes) as AskLater<Operations<Limiter>>)
    return { ...shown, ledger, keys, match }
  }

  /** The ledger of the candidates' states, under every plan. Undefined if the limiter has had no candidate. */
  #candidateLedger(scopes: readonly string[]): CheckedLedger | undefined {
    if (this.plans.comparison === undefined || scopes.length === 0) return undefined
    const open = () => this.plans.candidates.open(scopes.map(standIn), scopes, 'some')
    return getOrInsert(this.#candidates, scopes.join('\n'), open)
  }

  /**
   * Shows the state of a key under each policy, in words and numbers: whether the key is refused, why, and for how long. Changes nothing.
   * If the store has no state of the key, the key has its full quota. With several scopes, `key` may name only some of the scopes: the
   * result then has only the policies of these scopes.
   *
   * Rejects with HeadgateError `HEADGATE_KEY` if the key is invalid, with `HEADGATE_UNSUPPORTED` if the store cannot show its
   * keys, and with `HEADGATE_STORE_UNAVAILABLE` if the store fails and `onStoreError` is `'closed'`.
   */
  async inspect(key: Key): Promise<Inspection> {
    const { keys, match, ...limiter } = this.under(key)
    const kept = await limiter.ledger.run({ verb: 'inspect', keys })
    if (match === undefined) return inspectionOf(limiter, kept)
    return inspectUnder(match, kept, (by: Operations<Limiter> = this) => by.opened(limiter.scopes))
  }

  /**
   * Lists the banned keys and the keys with less than their full quota, each with its `inspect` result. Keys are read in small
   * batches, so other calls of the store are not blocked. A key that is added or removed during the scan may be missing. Example:
   * `for await (const { key } of limiter.list({ limit: 50 }))`. The iterator rejects with the store's error if the store fails,
   * and with HeadgateError `HEADGATE_UNSUPPORTED` if the store cannot list its keys, such as Memcached.
   * @throws HeadgateError `HEADGATE_OPTION` if an option is invalid
   */
  list(options?: ListOptions): AsyncGenerator<ListedKey, void, undefined> {
    const overridden: ShownLimiter['overridden'] = (scope, key, kept) => {
      const match = this.match(this.scopes.map((each) => (each === scope ? key : undefined)))
      if (match === undefined) return undefined
      // A store that has only hashes of names finds the states of the override's own policies if it is asked about the key.
      if (match.renamed && kept.states.some(({ name }) => name === undefined)) return this.inspect({ [scope]: key })
      return inspectUnder(match, [kept], (by: Operations<Limiter> = this) => by.opened([scope]))
    }
    return list({ ...this.opened(), overridden }, options)
  }

  /**
   * Deletes the states of the key, so that the key has its full quota again under every policy. With several scopes, `key` may name only
   * some of the scopes: the states of the other scopes stay.
   *
   * Rejects with HeadgateError `HEADGATE_KEY` if the key is invalid, and with `HEADGATE_STORE_UNAVAILABLE` if the store fails and
   * `onStoreError` is `'closed'`.
   */
  async reset(key: Key): Promise<void> {
    const { ledger, keys, scopes } = this.under(key)
    return runAlike({ verb: 'reset', keys }, ledger, this.#candidateLedger(scopes))
  }

  /**
   * Deletes all that the store has of these keys, under every plan: states, bans, and the units of open reservations. A later `settle` or
   * `cancel` does not bring the deleted units back. A text means this key in every scope. A record means the keys in the record. `keys` may
   * have thousands of keys, because the requests are sent in groups.
   *
   *     await limiter.forget(['ann', 'bob'])
   *     await limiter.forget([{ user: 'ann' }, { user: 'bob', address: '192.0.2.1' }])
   *
   * Rejects with HeadgateError `HEADGATE_KEY` if a key is invalid, and then deletes nothing. Rejects with the store's error if the
   * store fails, whatever `onStoreError` is: some keys may then be deleted, so call `forget` again.
   */
  async forget(keys: readonly Key[]): Promise<void> {
    const sought = listOfKeys(keys).map((key) => this.under(everywhere(key, this.scopes)))
    if (this.scopes.length === 0) throw noStates('forget')
    for (let from = 0; from < sought.length; from += forgottenAtOnce) {
      const group = sought.slice(from, from + forgottenAtOnce)
      const toStore = () => 'throw' as const
      const runs = group.flatMap(({ ledger, keys, scopes }) => [
        async () => ledger.run({ verb: 'reset', keys }, toStore),
        async () => this.#candidateLedger(scopes)?.run({ verb: 'reset', keys }, toStore),
      ])
      await allOf(runs.map((run) => run()))
    }
  }

  /**
   * Bans a key: until the ban ends, `consume`, `reserve` and `peek` of the key are refused under every plan (policy list). With several
   * scopes, `key` may name only some of the scopes. A call is then refused if one of its keys is banned. A second ban of a key replaces the
   * first ban. `unban` and `reset` end a ban. The decision of a refused call has `ban`, its `policy` is `'ban'`, and nothing is counted.
   *
   *     await limiter.ban('203.0.113.7', '1h', { reason: 'scans for passwords' })
   *     await limiter.ban({ user: 'ann' }, Infinity) // until `unban`
   *
   * @param duration milliseconds, or a text such as `'1h'`, at most 366 days; Infinity for a ban until `unban`
   *
   * Rejects with HeadgateError `HEADGATE_KEY` or `HEADGATE_BAN` if an argument is invalid, with `HEADGATE_UNSUPPORTED` if the store
   * cannot ban, and with the store's error if the store fails. After such a failure, the key is banned only in this process, and
   * only for calls that this process decides without the store (`onStoreError: 'local'`).
   */
  async ban(key: Key, duration: Duration, options?: BanOptions): Promise<void> {
    const keys = someKeysOf(key, this.scopes)
    const reason = reasonOf(options)
    const ban = { duration: banTime(duration), ...(reason !== undefined && { reason }) }
    const { ledger, scopes } = this.opened()
    return runAlike({ verb: 'ban', keys, ban }, ledger, this.#candidateLedger(scopes))
  }

  /**
   * Ends the bans of a key: the ban by `ban`, and the ban by the option `penalty`. The penalty then counts refusals from 0 again. But the
   * penalty remembers the past bans of the key, and the used units of the key do not change. A penalty with `on: 'spent'` has already reset
   * most policies when the ban began, so the key has used 0 units under these policies.
   *
   * Rejects for the same reasons as `ban`.
   */
  async unban(key: Key): Promise<void> {
    const { ledger, scopes } = this.opened()
    return runAlike({ verb: 'unban', keys: someKeysOf(key, scopes) }, ledger, this.#candidateLedger(scopes))
  }

  /**
   * Deletes the states of all keys of the limiter, under every plan (policy list). In Redis and Postgres, the keys are deleted in small
   * batches, and other calls continue. A key that is used during this time may stay.
   *
   * Rejects with HeadgateError `HEADGATE_UNSUPPORTED` if the store cannot list its keys, such as Memcached, and with the store's
   * error if the store fails.
   */
  async clear(): Promise<void> {
    const { ledger, scopes } = this.opened()
    await ledger.run({ verb: 'clear', keys: [] })
    await this.#candidateLedger(scopes)?.run({ verb: 'clear', keys: [] })
  }

  /**
   * Changes limits for some keys, under every plan, until a time. The override applies within a second in every process that reaches the
   * store, without a deploy. The most specific `limit`, `add` or `policies` applies (the key, then the longest prefix, then `'*'`), and then
   * the smallest matching `scale`. Used units carry over as between plans. Penalties do not change.
   *
   *     await limiter.override('ann', { policy: 'month', limit: 50_000, until: '2026-12-01', reason: 'contract' })
   *     await limiter.override({ scope: 'user', prefix: 'trial-' }, { policies: '5/1m sliding-log', until: '2h' })
   *     await limiter.override('*', { scale: 0.1, until: '30m', reason: 'incident 311' })
   *
   * Rejects with HeadgateError `HEADGATE_OVERRIDE` if the override is invalid, if the limiter cannot have its policies, or if another override
   * already sets the limit of the same policy for the same keys (scales may overlap). Rejects with `HEADGATE_KEY` if the key is invalid,
   * with `HEADGATE_UNSUPPORTED` if the store cannot store overrides, and with the store's error if the store fails.
   */
  async override(target: OverrideTarget, options: OverrideOptions): Promise<Override> {
    return (await this.plans.overrides.load()).add(this.overridden(), target, options)
  }

  /** The overrides that have not ended, read from the store. Rejects with the store's error if the store fails. */
  async overrides(): Promise<readonly Override[]> {
    return (await this.plans.overrides.load()).list(this.overridden())
  }

  /** Ends the override with this id. Resolves to false if no override has the id. Rejects with the store's error if the store fails. */
  async removeOverride(id: string): Promise<boolean> {
    return (await this.plans.overrides.load()).remove(id)
  }

  /**
   * The health of the store, and how many calls were decided by the store, by this process, or not at all. The numbers include the calls
   * of all limiters that `withPlan` made from this limiter.
   */
  health(): Health {
    return this.plans.health()
  }

  /**
   * The keys with the most calls in this process, under every plan (policy list), starting with the key that has the most calls. A call is
   * a `consume` or a `reserve`. The counts start when the limiter is made. `{ reset: true }` sets the counts to 0 after this result. All of
   * the first 8,192 calls are counted. After these calls, the counts are estimates from a sample, and in 19 of 20 cases differ from the
   * true counts by less than twice `standardError`.
   *
   * Example: `limiter.top(3)` may return `[{ key: '203.0.113.7', hashed: false, calls: 900, error: 0, standardError: 0, refused:
   * 850, share: 0.9 }, ...]`.
   * @throws HeadgateError `HEADGATE_OPTION` if the limiter has no option `top`, or if an argument is invalid
   */
  top(count = 20, options: TopOptions = {}): readonly HeavyKey[] {
    const { heavyKeys } = this.plans.options
    if (heavyKeys !== undefined) return heavyKeys.top(count, options)
    throw new HeadgateError(
      'HEADGATE_OPTION',
      'This limiter does not count the calls of its keys. Write new RateLimiter({ top: 1000, ... }).',
    )
  }

  /**
   * Stops all that the store of this limiter has started: the subscription to messages about resets, the messages over `node:cluster`, the
   * reports of used units (`shareStore`), and the reads of overrides. Call `close` after the last call, when the server has closed. Then
   * close the client, pool or database that you gave to the store. If several limiters use one store, one `close()` is enough, and a second
   * `close()` does nothing.
   */
  close(): void {
    this.plans.overrides.close()
    this.store.close?.()
  }
}

/** How many keys `forget` deletes at the same time, so that each request ends in time. */
const forgottenAtOnce = 100

function listOfKeys(keys: readonly Key[]): readonly Key[] {
  if (Array.isArray(keys)) return keys
  throw new HeadgateError('HEADGATE_KEY', `forget takes a list of keys, got ${shown(keys)}. Write forget(['ann']).`)
}

/** Converts a text to a record with this text as the key of every scope. Returns a record unchanged. */
function everywhere(key: Key, scopes: readonly string[]): Key {
  return typeof key === 'string' ? Object.fromEntries(scopes.map((scope) => [scope, key])) : key
}
