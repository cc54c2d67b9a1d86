import type { Details, Tickets } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import {
  callback,
  chain,
  flag,
  HeadgateError,
  hook,
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
import { endOf, HitCounter, type HitStoreOptions, type Hits, type HitTerms, isEnding } from './hit-counter.ts'

export type { HitStoreOptions, Hits, HitTerms } from './hit-counter.ts'

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
  const counter = new HitCounter(options)
  let limiter: string | undefined
  return {
    synchronous,
    traits: { kind: 'hits', promises: false },
    open(terms, joins) {
      limiter ??= terms.name
      if (limiter === terms.name) return withFailover(this, terms, joins, (bare) => new HitLedger(bare, counter))
      throw misfit('A hit store keeps the keys of one limiter. Make one for each, with a prefix of its own.')
    },
  }
}

class HitLedger implements Ledger {
  readonly #policy: Policy
  readonly #counter: HitCounter
  readonly #terms: HitTerms

  constructor({ policies }: LedgerTerms, counter: HitCounter) {
    const [policy] = policies
    if (policies.length !== 1 || policy === undefined || !isWindowFromFirst(policy)) {
      throw misfit(
        "A hit store counts by one window that opens with the first request. Use fixedWindow({ align: 'first-request', ... }) " +
          'or counter({ window }).',
      )
    }
    if (!counter.has('unhit') && !policy.countRefused) {
      throw misfit('This hit store has no unhit, so refused calls count. Set countRefused: true in the policy.')
    }
    this.#policy = policy
    this.#counter = counter
    this.#terms = Object.freeze({ window: policy.window, limit: policy.limit })
  }

  run<V extends Verb>(command: Command<V>): MaybePromise<OutcomeOf<V>> {
    return this.#run(command) as MaybePromise<OutcomeOf<V>>
  }

  #run(command: Command): MaybePromise<Outcome> {
    const { verb, costs = 1, tickets, details } = command
    const key = encodeId(command.keys[0] ?? '')
    const cost = typeof costs === 'number' ? costs : (costs[0] as number)
    if (verb === 'consume') return this.#consume(key, cost, details)
    if (verb === 'peek')
      return chain(this.#counter.read(key, this.#terms), (hits) => this.#answer(hits, cost, hits.used + cost, details))
    if (verb === 'reserve') return this.#reserve(key, cost, details)
    if (verb === 'renew')
      return chain(this.#change(key, 0, details), (same) => bookingOf(same, 0, () => tickets as Tickets))
    // A charge of 0 units only tests whether the store responds. Without `read`, no function can test this without adding hits.
    if (verb === 'charge' && cost === 0 && !this.#counter.has('read')) return this.#answer({ used: 0 }, 0, 0, details)
    if (verb === 'charge' || verb === 'settle') return this.#change(key, cost, details, tickets?.[0]?.[0])
    if (verb === 'refund') return this.#change(key, -cost, details)
    if (verb === 'reset') return this.#counter.forget(key)
    if (verb !== 'clear' || !this.#counter.has('forgetAll')) throw unsupported(verb)
    return this.#counter.forgetAll()
  }

  /**
   * Adds `by` hits, or subtracts hits if `by` is negative.
   * @param end when the window ends that has counted these hits, as in the ticket of a reservation
   */
  #change(key: string, by: number, details: Details | undefined, end?: number): MaybePromise<Decision> {
    const changed =
      by > 0 ? this.#counter.hit(key, by, this.#terms) : this.#counter.giveBack(key, -by, this.#terms, end)
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
    const counted = cost === 0 ? this.#counter.read(key, this.#terms) : this.#counter.hit(key, cost, this.#terms)
    return chain(counted, (hits) => {
      tell?.(hits)
      if (cost === 0 || hits.used <= limit || countRefused || isEnding(hits, counted, this.#terms))
        return this.#answer(hits, cost, hits.used, details)
      this.#counter.forgive(key, cost, this.#terms)
      return this.#answer({ ...hits, used: hits.used - cost }, cost, hits.used, details)
    })
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

/** True for the policies that a hit store supports: `fixedWindow({ align: 'first-request' })` and `counter`. */
function isWindowFromFirst({ algorithm }: Policy): boolean {
  const [limit, , burst, aligned] = algorithm.parameters
  return algorithm.kind === 'intervalBucket' && aligned === 0 && burst === limit
}

function misfit(message: string): HeadgateError {
  return new HeadgateError('HEADGATE_POLICY', message)
}
