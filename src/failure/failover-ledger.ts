/*
 * A ledger that decides every call of one limiter: by the store, or by `onStoreError` if the store fails.
 *
 *     call -> breaker closed? -> settle what the key owes -> store, within the deadline -> decision
 *                  |                        |                        |
 *                  no                     fails                    fails
 *                  +------------------------+------------------------+--> the choice -> closed: an error
 *                                                                                       open: admitted, not counted
 *                                                                                       local: decided in this process
 */
import { getOrInsert, HeadgateError, type MaybePromise, monotonicClock, realSleeper } from '../common/index.ts'
import {
  type CheckedLedger,
  type Command,
  type Health,
  isFallible,
  type Ledger,
  type LedgerTerms,
  noCalls,
  type OnFailure,
  type OnLate,
  type OpenLedger,
  type Outcome,
  type OutcomeOf,
  type Store,
  type Verb,
  withoutThresholds,
  withThresholds,
} from '../stores/contract/index.ts'
import { DeferredRefunds, givingBack, lateUnits } from './deferred-refunds.ts'
import { type CallVerb, Counters, Fallback } from './fallback.ts'
import { inspectKeys } from './inspect-failing.ts'
import { LocalQuota } from './local-quota.ts'
import { Reconciler } from './reconciler.ts'
import { isMisuse, StoreLink } from './store-link.ts'
import { WaitingCall } from './waiting-call.ts'

const ignore = (): void => {}

/** The most keys of each scope (kind of key) that are decided locally, at about 400 bytes each. */
const maxKeys = 100_000

class FailoverLedger implements CheckedLedger {
  readonly #fallback: Fallback

  constructor(fallback: Fallback) {
    this.#fallback = fallback
  }

  /**
   * A ledger for other policies under the same limiter name. It has its own ledger of the store, but shares the states that this ledger has
   * in this process.
   */
  joined(terms: LedgerTerms): FailoverLedger {
    const { shared, quota, ledger } = this.#fallback
    return new FailoverLedger(new Fallback(terms, shared, quota.joined(terms), ledger))
  }

  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    try {
      return this.#run(command, onFailure) as MaybePromise<OutcomeOf<V>>
    } catch (error) {
      if (this.#fallback.shared.link.store.synchronous) throw error
      return Promise.reject(error)
    }
  }

  #run(command: Command, onFailure: OnFailure | undefined): MaybePromise<Outcome> {
    const { verb } = command
    if (verb === 'ban' || verb === 'unban') return this.#changeBan(command as Command<'ban' | 'unban'>)
    if (verb === 'inspect') return inspectKeys(this.#fallback, command as Command<'inspect'>)
    if (verb === 'scan') return this.#scan(command)
    if (verb === 'clear') return this.#clear(command)
    return this.#call(command as Command<CallVerb>, onFailure)
  }

  #call(command: Command<CallVerb>, onFailure: OnFailure | undefined): MaybePromise<Outcome> {
    const fallback = this.#fallback
    const { verb, keys, tickets } = command
    const granted = tickets && fallback.runGranted(command as Command<'settle' | 'renew'>)
    if (granted !== undefined) return granted
    // The keys are reset under the policies of all limiters with this name.
    const aside = verb === 'reset' ? fallback.setAside(keys) : undefined
    const { charges, quota, shared } = fallback
    const { link, reconciler } = shared
    const breakers = link.parts.of(keys)
    const call = new WaitingCall(fallback, command, breakers, onFailure, aside?.restore)
    const failing = breakers.find(({ closed }) => !closed)
    if (failing === undefined) {
      quota.releaseIfFull()
      const settled = aside === undefined ? reconciler.settle(charges, keys) : aside.charged
      if (settled === undefined) return link.send(call)
      if (!link.store.synchronous || verb !== 'consume') return link.sendAfter(settled, call)
      settled.catch(ignore) // after a failure, the keys still owe these units
      return call.decideLocally() // `consumeSync` needs a decision at once
    }
    call.sent = false
    const probes = keys.map((key, n) => link.probe(key, () => charges.check(charges.scopes[n] as string, key)))
    const failed = () => call.failed(unsent(failing.lastError))
    return probes.some((probe) => probe !== undefined) ? Promise.all(probes).then(failed) : failed()
  }

  /** Bans or unbans the keys in the store and in the local quota, so that a ban also applies while the store fails. */
  async #changeBan(command: Command<'ban' | 'unban'>): Promise<undefined> {
    const { ledger, quota, shared } = this.#fallback
    if (command.verb === 'ban') quota.ban(command as Command<'ban'>)
    else quota.unban(command.keys)
    try {
      await shared.link.request(ledger, command)
    } catch (error) {
      if (isMisuse(error)) quota.unban(command.keys) // the store does not support bans
      throw error
    }
  }

  /** Lists keys of the store. Rejects with the store's error if the store fails. */
  #scan(command: Command): MaybePromise<Outcome> {
    const { ledger, shared } = this.#fallback
    const { link } = shared
    const failing = link.parts.of().find(({ closed }) => !closed)
    return failing === undefined ? link.request(ledger, command) : Promise.reject(failing.lastError)
  }

  /** Clears the keys in the store, then in this process. There is no deadline, because clearing takes longer with more keys. */
  async #clear(command: Command): Promise<undefined> {
    await this.#fallback.ledger.run(command)
    this.forgetAll()
  }

  /** Forgets the units that keys have spent in this process while the store failed. After that, no key owes units to the store. */
  forgetAll(): void {
    const { quota, shared } = this.#fallback
    shared.reconciler.forgetAll()
    shared.refunds.forgetAll()
    quota.clear()
  }

  health(): Health {
    const { link, reconciler, counters } = this.#fallback.shared
    const { errors, parts } = link
    const { breakers } = parts
    const worst = (['open', 'half-open', 'closed'] as const)
      .map((state) => breakers.find((breaker) => breaker.state === state))
      .find((breaker) => breaker !== undefined)
    const { sources, failedClosed } = counters
    const calls = { sources: { ...sources }, failedClosed, errors, owing: reconciler.size }
    if (worst === undefined) return { ...noCalls(), ...calls }
    const lastError = worst.lastError ?? breakers.find((breaker) => breaker.lastError !== undefined)?.lastError
    return { state: worst.state, since: Math.floor(worst.since / 1000), lastError, ...calls }
  }
}

/** The errors of calls that were not sent, by the error of the earlier call. */
const unsentErrors = new WeakMap<HeadgateError, HeadgateError>()

/** The error for a call that is not sent, because an earlier call failed with this error. In no scope has the call counted. */
function unsent(error: unknown): unknown {
  if (!(error instanceof HeadgateError) || error.uncounted) return error
  return getOrInsert(unsentErrors, error, ({ code, message, cause, shards }) => {
    const text = `The call was not sent, because the store does not respond. The earlier call failed: ${message}`
    return new HeadgateError(code, text, { cause, shards, uncounted: true })
  })
}

/** Gives the units of a late outcome back. If the store fails again, the units stay used. */
async function refundAtOnce(ledger: Ledger, ...[command, outcome, elapsed]: Parameters<OnLate>): Promise<void> {
  const late = command.verb === 'renew' ? undefined : lateUnits(command, outcome, elapsed)
  const refund = late && givingBack(late)
  if (refund === undefined) return
  try {
    await ledger.run({ ...refund, keys: command.keys as readonly string[], unattended: refund.verb === 'settle' })
  } catch {
    // The store has failed again.
  }
}

/**
 * Makes a ledger that decides every call: by the store, or as `terms.failure` says if the store fails. The `open` of a store that can fail
 * has to return such a ledger.
 *
 *     open(terms, joins) {
 *       return withFailover(this, terms, joins, (terms) => new MyLedger(terms))
 *     }
 *
 * If `terms.failure` is absent or the store cannot fail, the result is the ledger that `open` returns.
 * @param joins the second argument of the store's `open`: a ledger whose states the new ledger shares, or undefined
 * @param open opens the store's own ledger. Its second argument is a ledger that `open` has returned before, or undefined
 */
export function withFailover(store: Store, terms: LedgerTerms, joins: Ledger | undefined, open: OpenLedger): Ledger {
  const { failure, onLate: _, ...bare } = terms
  if (!isFallible(store)) return open(bare, joins)
  if (failure === undefined) {
    const ledger: Ledger = open({ ...bare, onLate: (...late) => refundAtOnce(ledger, ...late) }, joins)
    return ledger
  }
  if (joins instanceof FailoverLedger) return joins.joined(bare)
  const telling: OpenLedger = (own, other) => withThresholds(open(own, withoutThresholds(other)), own)
  const { onStoreError, instances, storeTimeout, apart, clock = monotonicClock, sleeper = realSleeper() } = failure
  const quota = LocalQuota.of(bare, instances, maxKeys, clock)
  const link = new StoreLink(store, bare.name, storeTimeout, clock, sleeper, apart)
  const shared = {
    ...{ onStoreError, open: telling, link, counters: new Counters(), granted: new WeakMap() },
    reconciler: new Reconciler(link, maxKeys),
    refunds: new DeferredRefunds(link),
  }
  return new FailoverLedger(new Fallback(bare, shared, quota))
}
