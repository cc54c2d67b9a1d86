/*
 * Who is refused until t need not be asked about until t.
 *
 * A policy with nothing left admits nobody, so its numbers change by the passing of time alone: the refusal can be
 * repeated here, its times counted down, until any policy of the call gives a unit back. What is remembered is one cost
 * of one call's keys, each of which has to be out: of one that is not, others may take. It is not so for policies that
 * count refused calls, nor while something is left (a smaller call elsewhere may take it). Refunds, charges and resets
 * made through the same store forget it; one made elsewhere shows when the time is up.
 */
import type { Policy } from '../../algorithms/algorithm.ts'
import type { Clock } from '../../clock.ts'
import { Local, type Passing } from './local.ts'
import type { Numbers, Response } from './response.ts'
import type { Terms } from './terms.ts'

export interface Denial extends Passing {
  readonly terms: Terms
  readonly cost: number
  readonly answer: Response
}

export class DenyCache {
  readonly #clock: Clock
  readonly #local: Local<Denial>

  constructor(clock: Clock) {
    this.#clock = clock
    this.#local = new Local(clock)
  }

  find(terms: Terms, keys: readonly string[], cost: number): Denial | undefined {
    const denial = this.#local.find(keys)
    return denial !== undefined && denial.terms === terms && denial.cost === cost ? denial : undefined
  }

  /** These terms ask about the keys, or were answered: they may have changed what a denial of other terms says. */
  outdate(terms: Terms, keys: readonly string[]): void {
    const denial = this.#local.find(keys)
    if (denial !== undefined && denial.terms !== terms) this.forget(keys)
  }

  /** How long ago the denial was given, in microseconds. */
  age(denial: Denial): number {
    return this.#clock() - denial.from
  }

  /** What a call has to remember until its answer is here. */
  get changes(): number {
    return this.#local.changes
  }

  /**
   * Notes a refusal.
   * @param asked the local time when the question was asked
   * @param changes as they were then
   */
  note(terms: Terms, keys: readonly string[], cost: number, answer: Response, asked: number, changes: number): void {
    if (!answer.lasts || changes !== this.#local.changes) return
    const { policies } = terms
    // Where refusals are punished, only those during a block change nothing.
    const telling = punished(policies) ? policies.filter(({ algorithm }) => algorithm.punishes) : policies
    const spent = policies.filter((policy, n) => {
      const { wait, remaining } = answer.numbers[n] as Numbers
      return wait !== 0 && remaining === 0 && !policy.shadow && telling.includes(policy)
    })
    if (!terms.scopes.every((scope) => spent.some((policy) => policy.scope === scope))) return
    let holds = Infinity
    for (const { next } of answer.numbers) if (next !== undefined && next > 0) holds = Math.min(holds, next)
    const now = this.#clock()
    // Counted from when it was asked for, so that nobody is refused here whom Redis would admit.
    const until = asked + holds
    if (now < until) this.#local.note(keys, { terms, cost, answer, from: now, until })
  }

  forget(keys: readonly string[]): void {
    this.#local.forget(keys)
  }
}

function punished(policies: readonly Policy[]): boolean {
  return policies.some(({ algorithm, shadow }) => algorithm.punishes && !shadow)
}
