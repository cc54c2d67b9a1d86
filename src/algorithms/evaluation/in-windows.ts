import { type Verdict, withReached, withResetAt } from '../../policy/index.ts'
import { partOf } from '../thresholds.ts'
import type { PolicyEvaluation } from './policy-evaluation.ts'

/**
 * Adds to the verdicts of policies with a calendar when the window ends, and the thresholds that this call is the first to reach in
 * the window.
 * @param took true if the call took units of each policy that did not wait
 */
export function inWindows(
  policies: readonly PolicyEvaluation[],
  verdicts: readonly Verdict[],
  now: number,
  took: boolean,
): Verdict[] {
  return verdicts.map((verdict, n) => inWindow(policies[n] as PolicyEvaluation, verdict, now, took))
}

function inWindow(evaluation: PolicyEvaluation, verdict: Verdict, now: number, took: boolean): Verdict {
  const { algorithm, thresholds, cost, wait, wrote, wroteForeign } = evaluation
  if (algorithm.place === undefined) return verdict
  const tells = thresholds.length > 0 && took && cost > 0 && wait === 0 && (wrote || wroteForeign)
  return withResetAt(tells ? withReached(verdict, tell(evaluation, verdict.used)) : verdict, now)
}

/**
 * Writes to the state which thresholds are told with this call. Returns the parts of the quota that are told. A state of another kind,
 * which a charge does not convert, has no place for them: the next admitted call tells them.
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
