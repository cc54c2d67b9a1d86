import type { PlanOfFile, PolicyDocument } from './policy-document.ts'

/** One difference between two versions of a policy file. */
export interface PolicyChange {
  readonly limiter: string
  /** The name of the plan. Undefined for the policies of the limiter itself. */
  readonly plan?: string
  /** The name of the policy, or `'penalty'`. Undefined if a whole plan or limiter changed. */
  readonly policy?: string
  /** The JSON in the older version. Undefined if the older version has no such policy, plan or limiter. */
  readonly before?: string
  /** The JSON in the newer version. Undefined if the policy, the plan or the limiter was removed. */
  readonly after?: string
}

/** The differences between two versions, in the order of the names. */
export function changesBetween(before: PolicyDocument, after: PolicyDocument): readonly PolicyChange[] {
  const [old, now] = [partsOf(before), partsOf(after)]
  const names = [...new Set([...old.keys(), ...now.keys()])].sort()
  return names.flatMap((name) => {
    const [was, is] = [old.get(name), now.get(name)]
    if (was?.text === is?.text) return []
    const { limiter, plan, policy } = (is ?? was) as Part
    return {
      limiter,
      ...(plan !== undefined && { plan }),
      ...(policy !== undefined && { policy }),
      ...(was !== undefined && { before: was.text }),
      ...(is !== undefined && { after: is.text }),
    }
  })
}

/** A change in one line: `api, plan pro, 15m: {"limit":100} -> {"limit":200}`. */
export function lineOf({ limiter, plan, policy, before = 'nothing', after = 'nothing' }: PolicyChange): string {
  const place = [limiter, ...(plan === undefined ? [] : [`plan ${plan}`]), ...(policy === undefined ? [] : [policy])]
  return `${place.join(', ')}: ${before} -> ${after}`
}

interface Part {
  readonly limiter: string
  readonly plan: string | undefined
  readonly policy: string | undefined
  readonly text: string
}

/** Each policy of a document, by its place in the file. */
function partsOf(document: PolicyDocument): Map<string, Part> {
  const parts = [...document].flatMap(([limiter, { own, plans }]) => [
    ...(own === undefined ? [] : partsOfPlan(limiter, undefined, own)),
    ...[...plans].flatMap(([plan, each]) => partsOfPlan(limiter, plan, each)),
  ])
  return new Map(parts.map((part) => [JSON.stringify([part.limiter, part.plan ?? '', part.policy ?? '']), part]))
}

function partsOfPlan(limiter: string, plan: string | undefined, given: PlanOfFile): Part[] {
  if (given === 'unlimited') return [{ limiter, plan, policy: undefined, text: '"unlimited"' }]
  const policies = [given.policies].flat().map((each) => ({
    policy: (each as { readonly name: string }).name,
    text: JSON.stringify(each),
  }))
  const penalty = given.penalty ? [{ policy: 'penalty', text: JSON.stringify(given.penalty) }] : []
  return [...policies, ...penalty].map((each) => ({ limiter, plan, ...each }))
}
