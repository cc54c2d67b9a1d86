import { isPlain, plainScript } from './lua/plain/script.ts'
import { type PackedPlan, plainHead } from './packed-plan.ts'
import { PlainScript } from './script.ts'

/** Each takes some 300 KB of the server's memory. Plans beyond that are decided by the whole script. */
const most = 32

/** Makes the plain scripts of a store. */
export class PlainScripts {
  readonly #ttlMargin: number
  readonly #change: (text: string) => string
  #left = most

  /** @param ttlMargin in milliseconds @param change for tests that change the scripts */
  constructor(ttlMargin: number, change: (text: string) => string) {
    this.#ttlMargin = ttlMargin
    this.#change = change
  }

  /** Undefined if only the whole script can decide the plan, or if there are too many plans. */
  of({ policies, scopes, bytes }: PackedPlan, cacheable: boolean, limiter: string): PlainScript | undefined {
    if (this.#left === 0 || !isPlain(policies, scopes)) return undefined
    this.#left--
    const terms = { policies, heads: policies.map(plainHead), bytes, ttlMargin: this.#ttlMargin, cacheable }
    return new PlainScript(this.#change(plainScript(terms)), cacheable, limiter)
  }
}
