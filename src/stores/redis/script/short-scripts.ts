import { Script } from './loaded-script.ts'
import { type PackedPlan, shortHead } from './packed-plan.ts'
import { hasShortScript, shortScript } from './short/index.ts'

/**
 * A store has at most this many short scripts, because each takes about 300 KB in the server. A short script decides the frequent calls of
 * one plan (set of policies). Further plans use the whole script.
 */
const most = 32

/** Makes the short scripts of a store: each script decides the frequent calls of one plan (set of policies). */
export class ShortScripts {
  readonly #ttlMargin: number
  readonly #change: (text: string) => string
  /**
   * The plans (sets of policies) for which a script was made, each with the value of `cacheable`. Several ledgers may have the same
   * plan.
   */
  readonly #made = new Set<string>()

  /**
   * @param ttlMargin how long Redis stores a key after the key has its full quota again, in milliseconds
   * @param change changes the text of a script, for tests
   */
  constructor(ttlMargin: number, change: (text: string) => string) {
    this.#ttlMargin = ttlMargin
    this.#change = change
  }

  /**
   * The short script of a plan (set of policies); undefined if only the whole script can decide this plan, or if there are
   * too many short scripts.
   */
  of({ policies, scopes, bytes }: PackedPlan, cacheable: boolean): Script | undefined {
    const made = `${cacheable} ${bytes.toString('latin1')}`
    if (!hasShortScript(policies, scopes) || (this.#made.size === most && !this.#made.has(made))) return undefined
    this.#made.add(made)
    const terms = { policies, heads: policies.map(shortHead), bytes, ttlMargin: this.#ttlMargin, cacheable }
    return new Script(this.#change(shortScript(terms)))
  }
}
