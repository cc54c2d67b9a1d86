/*
 * Keeps the policies by the times at which calls really went: `spacing: 'actual'`.
 *
 * A slot is a time that was booked. A timer that is late, or a busy event loop, makes a call go after its slot, and the
 * next one at its own slot. Both then come closer together than a server that counts exactly admits:
 *
 *     slots            |0        |10        |20        |30
 *     calls            A         .      B   C          D        B goes at 17, C 3 ms behind it
 *     spacing: actual  A         .      B         C         D   C goes 10 ms behind B
 *
 * So a second ledger under the same policies counts each call when it has gone, and a call whose slot has come goes only
 * if that ledger admits it too. Nothing can read a clock at the moment at which a function reads it. So a call counts
 * right after its function has run up to its first `await`, which is never too early. Until then it is `starting`, and
 * others go only if there is room for all that start.
 */
import type { Policy } from '../algorithms/algorithm.ts'
import { Smooth } from '../algorithms/smooth.ts'
import type { Clock } from '../clock.ts'
import type { Decision } from '../decision.ts'
import type { RateLimiter } from '../limiter.ts'
import { memoryStore } from '../stores/memory/memory-store.ts'
import type { Ledger } from '../stores/store.ts'

/** The calls that went, of all keys of a pacer. */
export class Runs {
  readonly #ledger: Ledger
  /** True if one cost of n is not n costs of 1: then calls start one at a time. */
  readonly single: boolean

  constructor({ name, policies, scopes }: RateLimiter, clock: Clock) {
    this.#ledger = memoryStore({ clock }).open({ name, policies, scopes, onChange: 'retune' })
    this.single = policies.some(({ algorithm }) => algorithm instanceof Smooth)
  }

  ask(keys: readonly string[], cost: number): Decision {
    return this.#ledger.decide('peek', keys, cost) as Decision
  }

  /** Counts a call that goes now. A cost of 0 only starts the clock of Guava's limiters. */
  count(keys: readonly string[], cost: number): void {
    void this.#ledger.decide('charge', keys, cost)
  }

  setPolicies(policies: readonly Policy[]): void {
    this.#ledger.retune?.(policies)
  }
}

/** The calls of one key that went, and those that start now. */
export class RunSpacing {
  readonly #runs: Runs
  readonly #keys: readonly string[]
  /** The permits of calls that were admitted and are not counted yet. */
  #starting = 0

  constructor(runs: Runs, keys: readonly string[]) {
    this.#runs = runs
    this.#keys = keys
  }

  /** True while calls start. When one has been counted, the queue may go on. */
  get starting(): boolean {
    return this.#starting > 0
  }

  /** The refusal of a call that would come too soon; undefined if it may go now. */
  refusal(cost: number): Decision | undefined {
    const decision = this.#runs.ask(this.#keys, this.#starting + cost)
    if (this.starting) return decision.allowed && !this.#runs.single ? undefined : decision
    // A cost that a lower rate can never admit has its slot already.
    return decision.allowed || decision.retryAfter === Infinity ? undefined : decision
  }

  /** A call is admitted. */
  begin(cost: number): void {
    this.#starting += cost
  }

  /** It has gone. */
  count(cost: number): void {
    this.#starting -= cost
    this.#runs.count(this.#keys, cost)
  }
}

/**
 * Calls `run` when the code that awaits a call of `acquire` or `tryAcquire`, resolved just now, has gone on: after a few
 * turns of the microtask queue.
 */
export async function afterCaller(run: () => void): Promise<void> {
  for (let turn = 0; turn < turnsOfCaller; turn++) await undefined
  run()
}

/** `acquire` takes one turn, and `tryAcquire` two. */
const turnsOfCaller = 4
