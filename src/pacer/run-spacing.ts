/*
 * Implements `spacing: 'actual'`: the policies count calls by the times at which they really start, and not by their booked times.
 *
 * A slot is a time that was booked. If a timer is late or the event loop is busy, a call starts after its slot, and the next call
 * starts at its own slot. These two calls are then too close together for a server that counts exactly:
 *
 *     slots            |0        |10        |20        |30
 *     calls            A         .      B   C          D        B starts at 17, C 3 ms after B
 *     spacing: actual  A         .      B         C         D   C starts 10 ms after B
 *
 * So a second ledger under the same policies counts each call that has started. A call starts at its slot only if the second ledger
 * admits it too. The exact moment at which a function sends its request is unknown. So a call is counted when its function has run up to
 * its first `await`. No call is then counted too early. Until that moment the call is `starting`, and other calls start only if the ledger
 * can admit all starting calls together.
 *
 * While the store fails, all calls are spaced in this way, whatever `spacing` says. The slots then come from two sources that do not know
 * each other: slots that the store booked before, and slots that this process books. Calls that waited for the store are late too. A ledger
 * under this process's part of the policies admits these calls together. A single process counts all calls that it starts there, also
 * before the failure. If several processes share the policies, calls still start at the slots that the store booked, uncounted.
 */

import type { Costs } from '../algorithms/evaluation/index.ts'
import { type Policy, shareOf } from '../algorithms/index.ts'
import type { Clock } from '../common/index.ts'
import type { RateLimiter } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import { type FailureTerms, isFallible, type Ledger, type LedgerTerms, type Store } from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { type CallCost, costsIn, sum } from './pacer-cost.ts'

/** The second ledger of a pacer, which counts the started calls of all keys. Policies that count units in flight are left out. */
export class Runs {
  readonly #store: Store
  readonly #terms: LedgerTerms
  readonly instances: number
  #ledger: Ledger
  /** The indexes of the policies that are counted, in the pacer's list of policies. */
  readonly #counted: readonly number[]
  /**
   * True if a policy may decide one call of n units differently from n calls of 1 unit. The ledger of started calls then cannot decide
   * several starting calls as one sum, so calls start one at a time.
   */
  readonly single: boolean

  /** @param instances how many processes share the policies: the ledger has an equal part of every policy */
  constructor({ name, policies }: RateLimiter, clock: Clock, instances: number) {
    this.instances = instances
    this.#counted = policies.flatMap(({ algorithm }, n) => (algorithm.leases ? [] : [n]))
    const counted = this.#parts(policies)
    const scopes = [...new Set(counted.map(({ scope }) => scope))]
    this.#store = memoryStore({ clock })
    this.#terms = { name, policies: counted, scopes, onChange: 'retune', replaces: true }
    this.#ledger = this.#store.open(this.#terms)
    this.single = counted.some(({ algorithm }) => algorithm.paysLater === true)
  }

  #of<T>(all: readonly T[]): readonly T[] {
    return this.#counted.map((n) => all[n] as T)
  }

  #parts(policies: readonly Policy[]): readonly Policy[] {
    return this.#of(policies).map((policy) => shareOf(policy, this.instances))
  }

  #costs(costs: Costs): Costs {
    return typeof costs === 'number' ? costs : this.#of(costs)
  }

  ask(keys: readonly string[], costs: Costs): Decision {
    return this.#ledger.run({ verb: 'peek', keys, costs: this.#costs(costs) }) as Decision
  }

  /** Counts a call that starts now. A cost of 0 takes no units, but a new key of a Guava limiter begins to store permits. */
  count(keys: readonly string[], costs: Costs): void {
    void this.#ledger.run({ verb: 'charge', keys, costs: this.#costs(costs) })
  }

  reset(keys: readonly string[]): void {
    void this.#ledger.run({ verb: 'reset', keys })
  }

  setPolicies(policies: readonly Policy[]): void {
    this.#ledger = this.#store.open({ ...this.#terms, policies: this.#parts(policies) }, this.#ledger)
  }
}

/** Makes the ledger (used units) of started calls. Undefined if all policies count units in flight, which do not depend on times. */
export function runsOf(limiter: RateLimiter, clock: Clock, instances = 1): Runs | undefined {
  return limiter.policies.every(({ algorithm }) => algorithm.leases) ? undefined : new Runs(limiter, clock, instances)
}

/** Makes the ledger that spaces calls while the store fails. Undefined if the store cannot fail. @param runs the ledger of `runsOf` */
export function shareOfRuns(
  limiter: RateLimiter,
  clock: Clock,
  { instances }: FailureTerms,
  runs: Runs | undefined,
): Runs | undefined {
  if (!isFallible(limiter.store)) return undefined
  return instances === 1 && runs !== undefined ? runs : runsOf(limiter, clock, instances)
}

/** The calls of one key that have started, and the calls that are starting. */
export class RunSpacing {
  readonly #runs: Runs | undefined
  readonly #share: Runs | undefined
  readonly #keys: readonly string[]
  /** How many calls were admitted and are not counted yet. `#starting` is the sum of their units. */
  #calls = 0
  #starting: Costs = 0

  /** True while the store fails, and after that until no call is late: this process then keeps its part of the policies. */
  storeFails = false

  /**
   * @param runs the ledger that always spaces calls; undefined unless `spacing` is `'actual'`
   * @param share the ledger that spaces calls while the store fails; undefined if no store with booked slots (start times) can fail
   */
  constructor(runs: Runs | undefined, share: Runs | undefined, keys: readonly string[]) {
    this.#runs = runs
    this.#share = share
    this.#keys = keys
  }

  /** True while admitted calls are not counted yet. After each count, the queue may admit more calls. */
  get starting(): boolean {
    return this.#calls > 0
  }

  /** The refusal of a call that would start too soon; undefined if the call may start now. */
  refusal(cost: CallCost): Decision | undefined {
    const runs = this.storeFails ? this.#share : this.#runs
    if (runs === undefined) return undefined
    const decision = runs.ask(this.#keys, sum(this.#starting, 1, costsIn(cost)))
    if (this.starting) return decision.allowed && !runs.single ? undefined : decision
    // After the rate was lowered, the cost may be more than the policy ever admits. Such a call starts anyway, because its slot (start
    // time) is already promised.
    return decision.allowed || decision.retryAfter === Infinity ? undefined : decision
  }

  /**
   * True if calls start at the slots that the store has booked even while the store fails. This is so if several processes share the
   * policies: these slots are then the part of the process that the store has granted, and the process starts its own part beside them.
   */
  get keepsBooked(): boolean {
    return this.#runs === undefined && this.#several
  }

  get #several(): boolean {
    return this.#share !== undefined && this.#share.instances > 1
  }

  /** Counts a call that starts, while the store fails, under this process's part of the policies. */
  startLocally(cost: CallCost): void {
    if (this.storeFails && this.#several) this.#share?.count(this.#keys, costsIn(cost))
  }

  /** Removes all counted calls. Calls that are starting are still counted when they have started. */
  reset(): void {
    this.#runs?.reset(this.#keys)
    this.#share?.reset(this.#keys)
  }

  /** Notes that a call was admitted. Until `count`, the call is `starting`. */
  begin(cost: CallCost): void {
    this.#calls++
    this.#starting = sum(this.#starting, 1, costsIn(cost))
  }

  /** Counts a call that has started. */
  count(cost: CallCost): void {
    this.#calls--
    this.#starting = sum(this.#starting, -1, costsIn(cost))
    this.#runs?.count(this.#keys, costsIn(cost))
    if (this.#share !== this.#runs && !this.#several) this.#share?.count(this.#keys, costsIn(cost))
  }
}

/**
 * Calls `run` after the caller's code behind `await acquire()` or `await tryAcquire()` has continued. The promise was resolved just before,
 * and the code continues after a few turns of the microtask queue.
 */
export async function afterCaller(run: () => void): Promise<void> {
  for (let turn = 0; turn < turnsOfCaller; turn++) await undefined
  run()
}

/**
 * How many turns of the microtask queue to wait. The caller of `acquire` continues after one turn, and the caller of `tryAcquire`
 * after two; two more turns are a reserve.
 */
const turnsOfCaller = 4
