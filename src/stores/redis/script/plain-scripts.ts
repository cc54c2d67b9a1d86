import { Script } from './loaded-script.ts'
import { type PackedPlan, plainHead } from './packed-plan.ts'
import { isPlain, plainScript } from './plain/index.ts'

/** The most plain scripts of a store: each takes some 300 KB in the server. The whole script decides about other plans. */
const most = 32

/** Makes the plain scripts of a store. */
export class PlainScripts {
  readonly #ttlMargin: number
  readonly #change: (text: string) => string
  /** The scripts that were made, by their plans: each node of a Cluster has ledgers of its own, with the same plans. */
  readonly #made = new Set<string>()

  /** @param ttlMargin in milliseconds @param change for tests that change the scripts */
  constructor(ttlMargin: number, change: (text: string) => string) {
    this.#ttlMargin = ttlMargin
    this.#change = change
  }

  /** Undefined if only the whole script can decide the plan, or if there are too many plans. */
  of({ policies, scopes, bytes }: PackedPlan, cacheable: boolean): Script | undefined {
    const made = `${cacheable} ${bytes.toString('latin1')}`
    if (!isPlain(policies, scopes) || (this.#made.size === most && !this.#made.has(made))) return undefined
    this.#made.add(made)
    const terms = { policies, heads: policies.map(plainHead), bytes, ttlMargin: this.#ttlMargin, cacheable }
    return new Script(this.#change(plainScript(terms)))
  }
}
