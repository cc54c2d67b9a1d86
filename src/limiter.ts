import type { Policy } from './algorithms/algorithm.ts'
import type { PenaltyOptions } from './algorithms/penalty.ts'
import type { Decision } from './decision.ts'
import { type Duration, milliseconds } from './duration.ts'
import { HeadgateError, shown } from './errors.ts'
import { healthOf } from './failure/failover-ledger.ts'
import type { Health } from './failure/health.ts'
import { type PolicyLikes, policiesOf, type RateLimiterOptions, readFamily } from './limiter-options.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { knownOptions } from './options.ts'
import type { Plans } from './plans.ts'
import { Reservation } from './reservation.ts'
import type { CallExtras, DecideExtras, Ledger, Store } from './stores/store.ts'

/** Who is limited: one string for all scopes, or one for each scope of the limiter. */
export type Key = string | Readonly<Record<string, string>>

export interface CostOptions {
  /** Units this call takes: a positive safe integer. Default 1. */
  cost?: number
}

export interface ReserveOptions extends CostOptions {
  /** How long the caller is willing to wait. Default 0. */
  maxWait?: Duration
}

/** Policies and a store: decides. */
export class RateLimiter {
  readonly name: string
  readonly policies: readonly Policy[]
  /** The scopes of the policies, each once: what a record of keys has to have. */
  readonly scopes: readonly string[]
  readonly store: Store
  /** How a key is punished that keeps being refused, if it is. */
  readonly penalty: PenaltyOptions | undefined
  readonly #ledger: Ledger
  readonly #family: Plans<RateLimiter>

  /**
   * @throws HeadgateError for a policy that is out of range, two policies of one name, a name that another limiter
   *   has on this store, an unknown option
   * @param family left out: the one that `under` hands on
   */
  constructor(options: RateLimiterOptions, family: Plans<RateLimiter> = readFamily(options)) {
    this.name = family.name
    this.store = family.store
    this.penalty = family.penalty
    this.policies = policiesOf(options.policies, family.penalty)
    family.claim()
    this.scopes = Object.freeze([...new Set(this.policies.map((policy) => policy.scope))])
    this.#family = family
    this.#ledger = family.open(this.policies, this.scopes)
  }

  /**
   * This limiter under other policies, for one plan or tenant: the same name, store and keys. Policies are the same by
   * their name; where the numbers of one changed, what a key has used goes with it by the rule `onChange`.
   * @throws HeadgateError as the constructor does
   */
  under(policies: PolicyLikes): RateLimiter {
    return memberOf(this.#family, policies)
  }

  /**
   * Takes `cost` from every policy if all of them admit it, else from none.
   * Rejects with HeadgateError `HEADGATE_COST` or `HEADGATE_KEY` on misuse, touching nothing.
   */
  consume(key: Key, options?: CostOptions): Promise<Decision> {
    // Not async: that would put a promise of its own around the store's.
    try {
      return Promise.resolve(this.decide(key, costOf(options)))
    } catch (error) {
      return Promise.reject(error)
    }
  }

  /**
   * `consume` without a promise, where the store is synchronous.
   * @throws HeadgateError `HEADGATE_ASYNC_STORE`, `HEADGATE_COST` or `HEADGATE_KEY`
   */
  consumeSync(key: Key, options?: CostOptions): Decision {
    if (!this.store.synchronous) throw needsPromise()
    return this.decide(key, costOf(options)) as Decision
  }

  /** `consume` with a promise only where the store needs one: for adapters, which stay synchronous when they can. */
  decide(key: Key, cost = 1, extras?: DecideExtras): MaybePromise<Decision> {
    return this.#ledger.decide('consume', keysOf(key, this.scopes), checkCost(cost), extras)
  }

  /** What `consume` would say now; takes and writes nothing. */
  async peek(key: Key, options?: CostOptions): Promise<Decision> {
    return this.#ledger.decide('peek', keysOf(key, this.scopes), checkCost(costOf(options)))
  }

  /** Forgets the key: it is like new. */
  async reset(key: Key): Promise<void> {
    return this.#ledger.reset(keysOf(key, this.scopes))
  }

  /** Gives units back, never more than are used. The answer tells what is left then. */
  async refund(key: Key, cost = 1): Promise<Decision> {
    return this.#ledger.decide('refund', keysOf(key, this.scopes), checkCost(cost))
  }

  /**
   * Takes units whatever is left, into debt: for a cost known only afterwards. Refused, with a `retryAfter` of Infinity
   * and without effect, only if the debt would leave the integers below 2^53.
   */
  async charge(key: Key, cost = 1): Promise<Decision> {
    return this.#ledger.decide('charge', keysOf(key, this.scopes), checkCost(cost))
  }

  /**
   * Takes `cost` now and lets it be corrected later by `settle(actual)` or `cancel()`. With `maxWait`, a cost that is
   * not admitted now is booked ahead and `wait` tells when to act; where no future time can be promised (a sliding or
   * segmented window, or several policies) it is refused instead, and its `retryAfter` is when to ask again.
   */
  async reserve(key: Key, options?: ReserveOptions): Promise<Reservation> {
    if (options !== undefined) knownOptions('reserve', options, ['cost', 'maxWait'])
    const maxWait = milliseconds(options?.maxWait ?? 0, 'reserve: maxWait', 'HEADGATE_MAX_WAIT', 0)
    return this.book(key, options?.cost ?? 1, maxWait)
  }

  /** `reserve` with a promise only where the store needs one. @param maxWait in whole milliseconds */
  book(key: Key, cost: number, maxWait: number, details?: CallExtras): MaybePromise<Reservation> {
    const keys = keysOf(key, this.scopes)
    const booking = this.#ledger.reserve(keys, checkCost(cost), maxWait * 1000, details)
    if ('then' in booking) return booking.then((booked) => new Reservation(this.#ledger, keys, cost, booked, details))
    return new Reservation(this.#ledger, keys, cost, booking, details)
  }

  /** Whether its store answers, and who answered the calls so far: its own and those of all that are made by `under`. */
  health(): Health {
    return healthOf(this.#ledger)
  }
}

// What every call goes through stays small enough to be inlined: the rest, errors too, is made apart.
function keysOf(key: Key, scopes: readonly string[]): readonly string[] {
  return typeof key === 'string' && scopes.length === 1 ? [key] : keysOfRecord(key, scopes)
}

function keysOfRecord(key: Key, scopes: readonly string[]): readonly string[] {
  if (typeof key === 'object' && key !== null) {
    const keys = scopes.map((scope) => (Object.hasOwn(key, scope) ? key[scope] : undefined))
    if (keys.every((each) => typeof each === 'string')) return keys
  }
  throw new HeadgateError(
    'HEADGATE_KEY',
    `A key must be ${scopes.length === 1 ? 'a string' : 'a record'} with a string for ` +
      `${scopes.map(shown).join(' and ')}, got ${shown(key)}. Write consume(${example(scopes)}).`,
  )
}

/** The limiter of those policies in its family, made once as long as they are in use. */
function memberOf(family: Plans<RateLimiter>, policies: PolicyLikes): RateLimiter {
  const make = () => new RateLimiter({ policies }, family)
  const text = textOf(policies)
  return text === undefined ? make() : family.member(text, make)
}

/** Undefined for what is no policy: its limiter says so when it is made. */
function textOf(policies: PolicyLikes): string | undefined {
  try {
    return JSON.stringify(policies)
  } catch {
    return undefined
  }
}

/**
 * Limiters of one name whose policies are known only call by call.
 * @throws HeadgateError as the constructor of `RateLimiter` does
 */
export function limiters(options: Omit<RateLimiterOptions, 'policies'>): (policies: PolicyLikes) => RateLimiter {
  const family = readFamily<RateLimiter>(options)
  family.claim()
  return (policies) => memberOf(family, policies)
}

function example(scopes: readonly string[]): string {
  return scopes.length === 1
    ? `'203.0.113.7'`
    : `{ ${scopes.map((scope) => `${JSON.stringify(scope)}: '...'`).join(', ')} }`
}

/** @throws HeadgateError `HEADGATE_OPTION` for a cost that is given in another way than as `{ cost }` */
function costOf(options: CostOptions | undefined): number {
  return options === undefined ? 1 : givenCost(options)
}

function givenCost(options: CostOptions): number {
  if (options?.cost === undefined) knownOptions('A call', options, ['cost'])
  return options.cost === undefined ? 1 : options.cost
}

function checkCost(cost: number): number {
  if (Number.isSafeInteger(cost) && cost >= 1) return cost
  throw wrongCost(cost)
}

function wrongCost(cost: unknown): HeadgateError {
  return new HeadgateError(
    'HEADGATE_COST',
    `A cost must be a whole number from 1 to 2^53 - 1, got ${shown(cost)}. To look without taking, use peek(key).`,
  )
}

function needsPromise(): HeadgateError {
  return new HeadgateError(
    'HEADGATE_ASYNC_STORE',
    'consumeSync needs a store that answers at once, as memoryStore() does. Use await limiter.consume(key).',
  )
}
