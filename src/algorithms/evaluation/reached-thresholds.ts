import { type Verdict, withReached } from '../../policy/index.ts'
import { partOf } from '../thresholds.ts'
import type { PolicyEvaluation } from './policy-evaluation.ts'

/** Adds thresholds to the verdicts of a call that took units: the thresholds that no earlier call of the window has reached. */
export function tellReached(policies: readonly PolicyEvaluation[], verdicts: readonly Verdict[]): readonly Verdict[] {
  return verdicts.map((verdict, n) => {
    const evaluation = policies[n] as PolicyEvaluation
    const { thresholds, cost, wait, wrote, wroteForeign } = evaluation
    const took = thresholds.length > 0 && cost > 0 && wait === 0 && (wrote || wroteForeign)
    return took ? withReached(verdict, tell(evaluation, verdict.used)) : verdict
  })
}

/**
 * Writes to the state the largest threshold that the call has reached. Returns the newly reached thresholds, as parts of the quota. A
 * charge does not convert a state of another kind, which has no number for thresholds: the next admitted call then reports the thresholds.
 * @param used the used units after the call
 */
function tell({ algorithm, thresholds, wrote, foreign, s, i }: PolicyEvaluation, used: number): readonly number[] {
  const slot = algorithm.toldSlot
  if (slot === undefined || !(wrote || foreign === undefined || algorithm.continues(foreign.algorithm))) return []
  const told = s[i + slot] as number
  const reached = thresholds.filter(({ part, units }) => part > told && units <= used)
  const last = reached.at(-1)
  if (last === undefined) return []
  s[i + slot] = last.part
  if (!wrote && foreign !== undefined) foreign.s[slot] = last.part
  return reached.map(partOf)
}
