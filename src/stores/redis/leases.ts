/*
 * Leases: units taken ahead in one call, then spent here without asking.
 *
 * A unit that is held and not spent may be spent at a later time as long as it is wholly taken then: to spend it is to
 * give it back and take it again, which leaves the state as it is. Once time has given it back, others may have it, and
 * it is lost here. So a lease is good until the first of its units comes back: to the end of the clock window or the
 * segment; in a bucket while what was used before it drains; in a log not at all, where every unit has its own time.
 *
 * Never more is admitted than the policies say. Less is, where a lease lapses with units in it: at most `units - 1` of
 * one key for each process.
 */
import type { Clock } from '../../clock.ts'
import type { Answer } from './answer.ts'
import { Local, type Passing } from './local.ts'
import type { Terms } from './terms.ts'

export interface Lease extends Passing {
  readonly terms: Terms
  readonly answer: Answer
  /** Units not spent yet. */
  units: number
  /** Units spent since the answer. */
  spent: number
}

export class Leases {
  readonly #units: number
  readonly #clock: Clock
  readonly #local: Local<Lease>
  /** Keys for which a lease is under way: one at a time, or their units would add up. */
  readonly #asked = new Set<string>()

  constructor(units: number, clock: Clock) {
    this.#units = units
    this.#clock = clock
    this.#local = new Local(clock)
  }

  /** Spends the cost if it is held here: then the answer. */
  spend(terms: Terms, keys: readonly string[], cost: number): { answer: Answer; elapsed: number } | undefined {
    const lease = this.#local.find(keys)
    if (lease === undefined || lease.terms !== terms || lease.units < cost) return undefined
    lease.units -= cost
    lease.spent += cost
    const numbers = lease.answer.numbers.map((each) => ({
      ...each,
      remaining: Math.max(0, each.remaining - lease.spent),
    }))
    return { answer: { ...lease.answer, numbers }, elapsed: this.#clock() - lease.from }
  }

  /** How many units to take with a call of that cost; undefined for no lease. */
  ask(keys: readonly string[], cost: number): number | undefined {
    const units = this.#units - (this.#local.find(keys)?.units ?? 0)
    const name = keys.join('\n')
    if (cost >= units || this.#asked.has(name)) return undefined
    this.#asked.add(name)
    return units
  }

  get changes(): number {
    return this.#local.changes
  }

  /**
   * Notes what an answer leased.
   * @param asked the local time when the question was asked
   * @param changes as they were then
   */
  note(terms: Terms, keys: readonly string[], answer: Answer, asked: number, changes: number): void {
    if (answer.lease === undefined || changes !== this.#local.changes) return
    const held = this.#local.find(keys)
    const units = answer.lease.units + (held?.terms === terms ? held.units : 0)
    const until = Math.min(asked + answer.lease.life, held?.until ?? Infinity)
    this.#local.note(keys, { terms, answer, units, spent: 0, from: asked, until })
  }

  /** The question is over, however it went. */
  asked(keys: readonly string[]): void {
    this.#asked.delete(keys.join('\n'))
  }

  forget(keys: readonly string[]): void {
    this.#local.forget(keys)
  }
}
