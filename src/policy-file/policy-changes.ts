import type { Policy } from '../algorithms/index.ts'
import { type PlanOfFile, type PolicyDocument, sourceOf } from './policy-document.ts'

/** One difference between two versions of a policy file. */
export interface PolicyChange {
  readonly limiter: string
  /** The name of the plan. Undefined for the policies of the limiter itself. */
  readonly plan?: string
  /** True for a part of the candidate that is tried beside the policies of the plan or the limiter. */
  readonly candidate?: true
  /** The name of the policy, or `'penalty'`. Undefined if a whole plan or limiter changed. */
  readonly policy?: string
  /** The JSON in the older version, as the file has it: `'"100/15m"'`. Undefined if the older version has no such policy, plan or limiter. */
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
    if (was?.meaning === is?.meaning) return []
    const { limiter, plan, candidate, policy } = (is ?? was) as Part
    return {
      limiter,
      ...(plan !== undefined && { plan }),
      ...(candidate && { candidate: true as const }),
      ...(policy !== undefined && { policy }),
      ...(was !== undefined && { before: was.text }),
      ...(is !== undefined && { after: is.text }),
    }
  })
}

/** A change in one line: `api, plan pro, 15m: "100/15m" -> "200/15m"`. */
export function lineOf({ limiter, plan, candidate, policy, before, after }: PolicyChange): string {
  const place = [limiter, plan && `plan ${plan}`, candidate && 'candidate', policy].filter(Boolean)
  return `${place.join(', ')}: ${before ?? 'nothing'} -> ${after ?? 'nothing'}`
}

interface Part {
  readonly limiter: string
  readonly plan: string | undefined
  readonly candidate: boolean
  readonly policy: string | undefined
  /** The JSON of the file. */
  readonly text: string
  /** Two parts with the same meaning have not changed, even if their texts differ. */
  readonly meaning: string
}

/** Each policy of a document, by its place in the file. */
function partsOf(document: PolicyDocument): Map<string, Part> {
  const parts = [...document].flatMap(([limiter, { own, plans }]) => [
    ...(own === undefined ? [] : partsOfPlan({ limiter, plan: undefined, candidate: false }, own)),
    ...[...plans].flatMap(([plan, each]) => partsOfPlan({ limiter, plan, candidate: false }, each)),
  ])
  const placeOf = ({ limiter, plan = '', candidate, policy = '' }: Part) =>
    JSON.stringify([limiter, plan, candidate, policy])
  return new Map(parts.map((part) => [placeOf(part), part]))
}

function partsOfPlan(place: Omit<Part, 'policy' | 'text' | 'meaning'>, given: PlanOfFile): Part[] {
  if (given === 'unlimited') return [{ ...place, policy: undefined, text: '"unlimited"', meaning: '"unlimited"' }]
  const policies = (given.policies as readonly Policy[]).map((each) => {
    return { policy: each.name, text: sourceOf(each), meaning: JSON.stringify(each) }
  })
  const punishment = JSON.stringify(given.penalty || undefined)
  const penalty = punishment === undefined ? [] : [{ policy: 'penalty', text: punishment, meaning: punishment }]
  const { candidate } = given
  const tried = candidate === undefined ? [] : partsOfPlan({ ...place, candidate: true }, candidate as PlanOfFile)
  return [...[...policies, ...penalty].map((each) => ({ ...place, ...each })), ...tried]
}
