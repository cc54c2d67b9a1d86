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
import { Local, type Passing } from './local.ts'
import type { Response } from './response.ts'
import type { Terms } from './terms.ts'

export interface Lease extends Passing {
  readonly terms: Terms
  readonly answer: Response
  /** Units not spent yet. */
  units: number
  /** Units spent since the answer. */
  spent: number
}

export class Leases {
  readonly #units: number
  readonly #clock: Clock
  readonly #local: Local<Lease>
  /** By keys, the lease that is under way: one at a time, or their units would add up. */
  readonly #coming = new Map<string, { readonly terms: Terms; readonly answered: Promise<boolean> }>()

  constructor(units: number, clock: Clock) {
    this.#units = units
    this.#clock = clock
    this.#local = new Local(clock)
  }

  /** Spends the cost if it is held here: then the answer. */
  spend(terms: Terms, keys: readonly string[], cost: number): { answer: Response; elapsed: number } | undefined {
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

  /**
   * What a call of that cost may wait for, to spend of it: a lease that is under way. Resolves with whether it brought any
   * units, and fails as the call itself would.
   */
  coming(terms: Terms, keys: readonly string[], cost: number): Promise<boolean> | undefined {
    if (this.#coming.size === 0 || cost >= this.#units) return undefined
    const coming = this.#coming.get(keys.join('\n'))
    return coming?.terms === terms ? coming.answered : undefined
  }

  /** How many units to take with a call of that cost; undefined for no lease. */
  ask(keys: readonly string[], cost: number): number | undefined {
    const units = this.#units - (this.#local.find(keys)?.units ?? 0)
    return cost >= units || this.#coming.has(keys.join('\n')) ? undefined : units
  }

  /** A lease has been asked for. @param brought whether it brought any units, once it is answered */
  asked(terms: Terms, keys: readonly string[], answered: Promise<unknown>, brought: () => boolean): void {
    const name = keys.join('\n')
    const over = answered.finally(() => this.#coming.delete(name)).then(brought)
    over.catch(() => {}) // whoever asked is told, and who waits
    this.#coming.set(name, { terms, answered: over })
  }

  get changes(): number {
    return this.#local.changes
  }

  /**
   * Notes what an answer leased.
   * @param asked the local time when the question was asked
   * @param changes as they were then
   */
  note(terms: Terms, keys: readonly string[], answer: Response, asked: number, changes: number): void {
    if (answer.lease === undefined || changes !== this.#local.changes) return
    const held = this.#local.find(keys)
    const units = answer.lease.units + (held?.terms === terms ? held.units : 0)
    const until = Math.min(asked + answer.lease.life, held?.until ?? Infinity)
    this.#local.note(keys, { terms, answer, units, spent: 0, from: asked, until })
  }

  forget(keys: readonly string[]): void {
    this.#local.forget(keys)
  }
}
