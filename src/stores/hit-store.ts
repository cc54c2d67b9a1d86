import type { Details, Tickets } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import {
  attempt,
  callback,
  chain,
  flag,
  HeadgateError,
  hook,
  isPromise,
  type MaybePromise,
  monotonicClock,
  readOptions,
  unsupported,
} from '../common/index.ts'
import { withFailover } from '../failure/index.ts'
import { type Decision, join, type Verdict } from '../policy/index.ts'
import {
  type Booking,
  bookingOf,
  type Command,
  encodeId,
  type Ledger,
  type LedgerTerms,
  type Outcome,
  type OutcomeOf,
  type Store,
  type Verb,
} from './contract/index.ts'
import { asStoreError, type Hits, numbersOf } from './hit-answers.ts'

/** The numbers of the policy, which `hit`, `unhit` and `read` get. */
export interface HitTerms {
  /** The length of a window, in milliseconds. */
  readonly window: number
  readonly limit: number
}

/** The options of `hitStore`. */
export interface HitStoreOptions {
  /**
   * Adds `cost` hits to the key, even if the sum exceeds the limit, and returns the hits of the key in its window. A key has at most 128
   * characters of ASCII, without blanks.
   */
  hit: (key: string, cost: number, terms: HitTerms) => MaybePromise<Hits>
  /**
   * Subtracts `cost` hits from the key. Allowed only together with `read`. Without `unhit`, refused calls count, and calls of `refund` and
   * settlements (corrections to the actual cost) reject.
   */
  unhit?: (key: string, cost: number, terms: HitTerms) => MaybePromise<unknown>
  /** Returns the hits of the key, or undefined if the key has none. Without `read`, `peek` rejects. */
  read?: (key: string, terms: HitTerms) => MaybePromise<Hits | undefined>
  /** Deletes the hits of the key. Without `forget`, `reset` rejects. */
  forget?: (key: string) => MaybePromise<unknown>
  /** Deletes the hits of all keys. Without `forgetAll`, `clear` rejects. */
  forgetAll?: () => MaybePromise<unknown>
  /** True if none of the functions returns a promise. Default false. */
  synchronous?: boolean
}

const example = '(key, cost) => counters.add(key, cost)'
const own = hook(example)
const readers = {
  hit: callback(example),
  ...{ unhit: own, read: own, forget: own, forgetAll: own },
  synchronous: flag(),
}

/**
 * Makes a store from functions that count hits of a key in windows, such as the functions of another package's store. The store has
 * one limiter with one policy: `fixedWindow({ align: 'first-request' })` or `counter`. The functions decide by their own clock when
 * a window ends.
 *
 *     hitStore({ hit: async (key, cost, { window }) => ({ used: await counters.add(key, cost, window) }) })
 *
 * The hits of a refused call are subtracted by `unhit`, unless the policy has `countRefused`. Hits that a call of `charge` adds beyond the
 * limit stay until the window ends. If `hit` or `read` returns no numbers, the store counts as failed, and `onStoreError` applies.
 * @throws HeadgateError `HEADGATE_OPTION` if an option is invalid. A limiter on this store throws `HEADGATE_POLICY` for any other
 *   policy. With `synchronous`, a call throws `HEADGATE_STORE` if `hit` or `read` returns no numbers
 */
export function hitStore(options: HitStoreOptions): Store {
  const { synchronous } = readOptions('hitStore', options, readers)
  if (options.unhit !== undefined && options.read === undefined) {
    throw new HeadgateError('HEADGATE_OPTION', 'hitStore: unhit needs read, to give back no more than was used.')
  }
  let limiter: string | undefined
  return {
    synchronous,
    traits: { kind: 'hits', promises: false },
    open(terms, joins) {
      limiter ??= terms.name
      if (limiter === terms.name) return withFailover(this, terms, joins, (bare) => new HitLedger(bare, options))
      throw misfit('A hit store keeps the keys of one limiter. Make one for each, with a prefix of its own.')
    },
  }
}

class HitLedger implements Ledger {
  readonly #policy: Policy
  readonly #options: HitStoreOptions
  readonly #terms: HitTerms

  constructor({ policies }: LedgerTerms, options: HitStoreOptions) {
    const [policy] = policies
    if (policies.length !== 1 || policy === undefined || !isWindowFromFirst(policy)) {
      throw misfit(
        "A hit store counts by one window that opens with the first request. Use fixedWindow({ align: 'first-request', ... }) " +
          'or counter({ window }).',
      )
    }
    if (options.unhit === undefined && !policy.countRefused) {
      throw misfit('This hit store has no unhit, so refused calls count. Set countRefused: true in the policy.')
    }
    this.#policy = policy
    this.#options = options
    this.#terms = Object.freeze({ window: policy.window, limit: policy.limit })
  }

  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    return asStoreError(() => this.#run(command)) as MaybePromise<OutcomeOf<V>>
  }

  #run(command: Command): MaybePromise<Outcome> {
    const { verb, costs = 1, tickets, details } = command
    const key = encodeId(command.keys[0] ?? '')
    const cost = typeof costs === 'number' ? costs : (costs[0] as number)
    if (verb === 'consume') return this.#consume(key, cost, details)
    if (verb === 'peek') return chain(this.#read(key), (hits) => this.#answer(hits, cost, hits.used + cost, details))
    if (verb === 'reserve') return this.#reserve(key, cost, details)
    if (verb === 'renew')
      return chain(this.#change(key, 0, details), (same) => bookingOf(same, 0, () => tickets as Tickets))
    // A charge of 0 units only tests whether the store responds. Without `read`, no function can test this without adding hits.
    if (verb === 'charge' && cost === 0 && this.#options.read === undefined)
      return this.#answer({ used: 0 }, 0, 0, details)
    if (verb === 'charge' || verb === 'settle') return this.#change(key, cost, details, tickets?.[0]?.[0])
    if (verb === 'refund') return this.#change(key, -cost, details)
    if (verb === 'reset') return chain(this.#needed('forget')(key), () => undefined)
    const { forgetAll } = this.#options
    if (verb !== 'clear' || forgetAll === undefined) throw unsupported(verb)
    return chain(forgetAll(), () => undefined)
  }

  /**
   * Adds `by` hits, or subtracts hits if `by` is negative.
   * @param end when the window ends that has counted these hits, as in the ticket of a reservation
   */
  #change(key: string, by: number, details: Details | undefined, end?: number): MaybePromise<Decision> {
    const changed = by > 0 ? this.#hit(key, by) : this.#giveBack(key, -by, end)
    return chain(changed, (hits) => this.#answer(hits, 0, 0, details))
  }

  /** The ticket has the end of the window. */
  #reserve(key: string, cost: number, details: Details | undefined): MaybePromise<Booking> {
    let end = 0
    const decision = this.#consume(key, cost, details, (hits) => {
      end = endOf(hits)
    })
    return chain(decision, (answer) => bookingOf(answer, 0, () => [[end, 0, cost]]))
  }

  #consume(key: string, cost: number, details?: Details, tell?: (hits: Hits) => void): MaybePromise<Decision> {
    const { limit, countRefused } = this.#policy
    const counted = cost === 0 ? this.#read(key) : this.#hit(key, cost)
    return chain(counted, (hits) => {
      tell?.(hits)
      if (cost === 0 || hits.used <= limit || countRefused || this.#isEnding(hits, counted))
        return this.#answer(hits, cost, hits.used, details)
      // Does not wait for `unhit`, because the call is refused, however `unhit` ends.
      attempt(() => this.#options.unhit?.(key, cost, this.#terms))
      return this.#answer({ ...hits, used: hits.used - cost }, cost, hits.used, details)
    })
  }

  #hit(key: string, cost: number): MaybePromise<Hits> {
    return chain(this.#options.hit(key, cost, this.#terms), (hits) => numbersOf('hit', hits))
  }

  /**
   * Subtracts at most the hits that the key has, because some stores would count below 0. Hits of an earlier window are not subtracted: the
   * next window ends at least the length of a window later.
   */
  #giveBack(key: string, cost: number, end = 0): MaybePromise<Hits> {
    const read = this.#read(key)
    return chain(read, (hits) => {
      const back = Math.min(cost, hits.used)
      const isOver = end > 0 && endOf(hits) - end > 500 * this.#terms.window
      if (back === 0 || isOver || this.#isEnding(hits, read)) return hits
      return chain(this.#needed('unhit')(key, back, this.#terms), () => ({ ...hits, used: hits.used - back }))
    })
  }

  /** True if a call of `unhit` could be on its way when the window ends, so that it subtracts hits of the next window. */
  #isEnding({ resetAfter = Infinity }: Hits, answer: MaybePromise<Hits>): boolean {
    return isPromise(answer) && resetAfter < Math.min(1000, this.#terms.window / 2)
  }

  #read(key: string): MaybePromise<Hits> {
    return chain(this.#needed('read')(key, this.#terms), (hits) =>
      numbersOf('read', hits ?? { used: 0, resetAfter: 0 }),
    )
  }

  /** Returns the function of this name from the options. @throws HeadgateError `HEADGATE_UNSUPPORTED` if the function is missing */
  #needed<Name extends keyof typeof lacking>(name: Name): NonNullable<HitStoreOptions[Name]> {
    const given = this.#options[name]
    if (given !== undefined) return given
    const message = `This hit store has no ${name}, so ${lacking[name]}. Give hitStore the function ${name}.`
    throw new HeadgateError('HEADGATE_UNSUPPORTED', message)
  }

  /**
   * Makes the decision about a call from the hits of its key.
   * @param asked the hits of the key with the cost of this call; 0 if the call cannot be refused. If `asked` exceeds the limit, the call is
   *   refused
   */
  #answer({ used, resetAfter: left }: Hits, cost: number, asked: number, details?: Details): Decision {
    const { name, limit, shadow, window } = this.#policy
    const resetAfter = used > 0 ? Math.max(0, Math.ceil(left ?? window)) : 0
    const allowed = asked <= limit
    const verdict: Verdict = {
      name,
      allowed,
      limit,
      remaining: Math.max(0, limit - used),
      used,
      retryAfter: allowed ? 0 : cost > limit ? Infinity : resetAfter,
      resetAfter,
      shadow,
      ...(details?.nextAfter ? { nextAfter: resetAfter } : {}),
    }
    return join(allowed || shadow, [verdict], 'store', details?.at ? Math.floor(monotonicClock() / 1000) : undefined)
  }
}

/** When the window of these hits ends, by the clock of this process, in microseconds. 0 if the store does not tell the end. */
function endOf({ resetAfter }: Hits): number {
  return resetAfter === undefined ? 0 : monotonicClock() + resetAfter * 1000
}

/** True for the policies that a hit store supports: `fixedWindow({ align: 'first-request' })` and `counter`. */
function isWindowFromFirst({ algorithm }: Policy): boolean {
  const [limit, , burst, aligned] = algorithm.parameters
  return algorithm.kind === 'intervalBucket' && aligned === 0 && burst === limit
}

/** For each optional function: what is impossible if the function is missing, as a text for the error. */
const lacking = {
  unhit: 'no units can be given back',
  read: 'the hits of a key are not known',
  forget: 'a key cannot be reset',
}

function misfit(message: string): HeadgateError {
  return new HeadgateError('HEADGATE_POLICY', message)
}
