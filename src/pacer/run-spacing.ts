/*
 * `spacing: 'actual'`: the policies count calls by the times at which they really went, and not by their booked times.
 *
 * A slot is a time that was booked. A late timer, or a busy event loop, makes a call go after its slot, while the next
 * call goes at its own slot. Then the two calls are closer together than a server that counts exactly admits:
 *
 *     slots            |0        |10        |20        |30
 *     calls            A         .      B   C          D        B goes at 17, C 3 ms behind it
 *     spacing: actual  A         .      B         C         D   C goes 10 ms behind B
 *
 * So a second ledger under the same policies counts each call when it has gone, and a call whose slot has come goes
 * only if that ledger admits it too. Code cannot know the exact moment at which a function sends its request. So a call
 * counts right after its function has run up to its first `await`, which is never too early. Until then the call is
 * `starting`, and other calls go only if there is room for all calls that start.
 */

import type { Costs } from '../algorithms/evaluation/index.ts'
import type { Policy } from '../algorithms/index.ts'
import type { Clock } from '../common/index.ts'
import type { RateLimiter } from '../limiter/index.ts'
import type { Decision } from '../policy/index.ts'
import type { Ledger, LedgerTerms, Store } from '../stores/contract/index.ts'
import { memoryStore } from '../stores/memory/index.ts'
import { type CallCost, costsIn, sum } from './pacer-cost.ts'

/** The calls that went, of all keys of a pacer. Policies that count units in flight are left out. */
export class Runs {
  readonly #store: Store
  readonly #terms: LedgerTerms
  #ledger: Ledger
  /** Which of the pacer's policies are counted. */
  readonly #counted: readonly number[]
  /** True if a cost of n is decided differently from n costs of 1: then calls start one at a time. */
  readonly single: boolean

  constructor({ name, policies }: RateLimiter, clock: Clock) {
    this.#counted = policies.flatMap(({ algorithm }, n) => (algorithm.leases ? [] : [n]))
    const counted = this.#of(policies)
    const scopes = [...new Set(counted.map(({ scope }) => scope))]
    this.#store = memoryStore({ clock })
    this.#terms = { name, policies: counted, scopes, onChange: 'retune', replaces: true }
    this.#ledger = this.#store.open(this.#terms)
    this.single = counted.some(({ algorithm }) => algorithm.paysLater === true)
  }

  #of<T>(all: readonly T[]): readonly T[] {
    return this.#counted.map((n) => all[n] as T)
  }

  #costs(costs: Costs): Costs {
    return typeof costs === 'number' ? costs : this.#of(costs)
  }

  ask(keys: readonly string[], costs: Costs): Decision {
    return this.#ledger.run({ verb: 'peek', keys, costs: this.#costs(costs) }) as Decision
  }

  /** Counts a call that goes now. A cost of 0 only starts the clock of Guava's limiters. */
  count(keys: readonly string[], costs: Costs): void {
    void this.#ledger.run({ verb: 'charge', keys, costs: this.#costs(costs) })
  }

  setPolicies(policies: readonly Policy[]): void {
    this.#ledger = this.#store.open({ ...this.#terms, policies: this.#of(policies) }, this.#ledger)
  }
}

/** Makes the ledger of calls that went. Undefined if all policies count units in flight: nothing is to be spaced. */
export function runsOf(limiter: RateLimiter, clock: Clock): Runs | undefined {
  return limiter.policies.every(({ algorithm }) => algorithm.leases) ? undefined : new Runs(limiter, clock)
}

/** The calls of one key that went, and those that start now. */
export class RunSpacing {
  readonly #runs: Runs
  readonly #keys: readonly string[]
  /** How many calls are admitted but not counted yet, and the units of these calls. */
  #calls = 0
  #starting: Costs = 0

  constructor(runs: Runs, keys: readonly string[]) {
    this.#runs = runs
    this.#keys = keys
  }

  /** True while calls start. When a call has been counted, the queue may admit more. */
  get starting(): boolean {
    return this.#calls > 0
  }

  /** The refusal of a call that would come too soon; undefined if it may go now. */
  refusal(cost: CallCost): Decision | undefined {
    const decision = this.#runs.ask(this.#keys, sum(this.#starting, 1, costsIn(cost)))
    if (this.starting) return decision.allowed && !this.#runs.single ? undefined : decision
    // After the rate was lowered, a cost may never fit. Its call goes, because it has a slot already.
    return decision.allowed || decision.retryAfter === Infinity ? undefined : decision
  }

  /** Notes that a call is admitted and starts now. */
  begin(cost: CallCost): void {
    this.#calls++
    this.#starting = sum(this.#starting, 1, costsIn(cost))
  }

  /** Counts the call, which has gone. */
  count(cost: CallCost): void {
    this.#calls--
    this.#starting = sum(this.#starting, -1, costsIn(cost))
    this.#runs.count(this.#keys, costsIn(cost))
  }
}

/**
 * Calls `run` when the code that awaits an `acquire` or `tryAcquire`, resolved just now, has continued: after a few
 * turns of the microtask queue.
 */
export async function afterCaller(run: () => void): Promise<void> {
  for (let turn = 0; turn < turnsOfCaller; turn++) await undefined
  run()
}

/** `acquire` takes one turn, and `tryAcquire` two. */
const turnsOfCaller = 4
