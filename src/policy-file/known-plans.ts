import { LRUCache } from 'lru-cache'
import type { Policy } from '../algorithms/index.ts'
import { type PlanOfFile, type PolicyDocument, sourceOf } from './policy-document.ts'

/** How many plans are remembered at most. */
const most = 1000

/** A plan that `plan` was asked for. */
export interface AskedPlan {
  readonly limiter: string
  readonly plan: string | undefined
  /** The plan in the newest valid version of the file. */
  newest: PlanOfFile
  /** The plan that applies: `newest`, or an earlier version if calls fail under `newest`. */
  used: PlanOfFile
  /** The plan before `used`, from the first call that fails under `used` until a call is decided under `used`. */
  before?: PlanOfFile | undefined
}

/** The plans of all versions of a file. A plan that is the same in two versions is the same object, so that a limiter finds it fast. */
export class KnownPlans {
  readonly #known = new LRUCache<string, PlanOfFile>({ max: most })
  /** Each plan in the newest version that has it. */
  readonly #newest = new LRUCache<string, PlanOfFile>({ max: most })

  /** The document with a known object for each plan that a version before had. */
  known(document: PolicyDocument): PolicyDocument {
    return new Map(
      [...document].map(([limiter, { own, plans }]) => {
        const named = [...plans].map(([name, plan]) => [name, this.#knownPlan([limiter, name], plan)] as const)
        const known = own === undefined ? undefined : this.#knownPlan([limiter], own)
        return [limiter, { own: known, plans: new Map(named) }]
      }),
    )
  }

  /** The plan in the newest version that has it. Undefined if no version has it, or if very many plans were removed since. */
  newest(limiter: string, plan: string | undefined): PlanOfFile | undefined {
    return this.#newest.get(JSON.stringify(plan === undefined ? [limiter] : [limiter, plan]))
  }

  #knownPlan(place: readonly string[], plan: PlanOfFile): PlanOfFile {
    const known = this.#knownObject(place, plan)
    this.#newest.set(JSON.stringify(place), known)
    return known
  }

  #knownObject(place: readonly string[], plan: PlanOfFile): PlanOfFile {
    if (plan === 'unlimited') return plan
    const text = JSON.stringify([place, plan, (plan.policies as readonly Policy[]).map(sourceOf)])
    const known = this.#known.get(text) ?? plan
    this.#known.set(text, known)
    return known
  }
}
