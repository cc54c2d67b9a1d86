import { Script } from './loaded-script.ts'
import { type PackedPlan, plainHead } from './packed-plan.ts'
import { isPlain, plainScript } from './plain/index.ts'

/** The most short scripts of a store, because each takes some 300 KB in the server. Other plans use the whole script. */
const most = 32

/** Makes the short scripts of a store: each decides the frequent calls of one plan. */
export class PlainScripts {
  readonly #ttlMargin: number
  readonly #change: (text: string) => string
  /** The plans (and options) for which a script was made. Several ledgers may have the same plan. */
  readonly #made = new Set<string>()

  /** @param ttlMargin how much longer than needed a key lives, in milliseconds @param change a test's change of the scripts */
  constructor(ttlMargin: number, change: (text: string) => string) {
    this.#ttlMargin = ttlMargin
    this.#change = change
  }

  /** The short script of a plan; undefined if only the whole script can decide the plan, or if there are too many scripts. */
  of({ policies, scopes, bytes }: PackedPlan, cacheable: boolean): Script | undefined {
    const made = `${cacheable} ${bytes.toString('latin1')}`
    if (!isPlain(policies, scopes) || (this.#made.size === most && !this.#made.has(made))) return undefined
    this.#made.add(made)
    const terms = { policies, heads: policies.map(plainHead), bytes, ttlMargin: this.#ttlMargin, cacheable }
    return new Script(this.#change(plainScript(terms)))
  }
}
