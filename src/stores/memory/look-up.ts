import type { Algorithm } from '../../algorithms/algorithm.ts'
import { carry, hasFullQuota, type StateRule } from '../../algorithms/carry.ts'
import type { PolicyEvaluation } from '../../algorithms/evaluation.ts'
import { sameDefinition } from '../../algorithms/revive.ts'
import { left, numbersOf, type State, timeOf } from './flat-states.ts'
import { OwnState } from './multi-plan-states.ts'
import { closed, usedUp } from './shared-cells.ts'

/**
 * Points the weighing to what a key's states mean under its numbers: to one written under the same as it is, else to a
 * copy that is carried over. Of states that keys shared there may be several of one name: then to one as strict as all.
 * Returns whether one of them was shared.
 */
export function lookUp(weighing: PolicyEvaluation, states: readonly State[], now: number, rule: StateRule): boolean {
  const { algorithm } = weighing
  weighing.i = 0
  weighing.carried = false
  let own: State | undefined
  let several = false
  for (const state of states) {
    if (!concerns(state, weighing)) continue
    several = own !== undefined
    own = state
  }
  if (several) return pointToStrictest(weighing, states, now, rule)
  if (own === undefined) weighing.s = new Array(algorithm.slots).fill(0)
  else if (isUnder(own, algorithm)) {
    weighing.s = own.s
    weighing.i = own.i
  } else {
    weighing.s = carriedOver(own, algorithm, now, rule)
    weighing.carried = rule !== 'retune' && !hasFullQuota(own.s, own.i, own.policy.algorithm, now)
  }
  return isShared(own)
}

function isShared(state: State | undefined): boolean {
  return state instanceof OwnState && state.shared
}

function concerns({ policy }: State, { policy: { name }, algorithm }: PolicyEvaluation): boolean {
  return policy.name === name || (policy === closed && !algorithm.punishes)
}

function isUnder({ policy }: State, algorithm: Algorithm): boolean {
  return policy.algorithm === algorithm || sameDefinition(policy.algorithm, algorithm)
}

function pointToStrictest(weighing: PolicyEvaluation, states: readonly State[], now: number, rule: StateRule): boolean {
  const { algorithm, policy } = weighing
  const several = states.filter((state) => concerns(state, weighing))
  const [s = [], ...others] = several.map((state) => under(state, algorithm, now, rule))
  for (const t of others) {
    const at = Math.max(timeOf({ policy, s, i: 0 }, now), timeOf({ policy, s: t, i: 0 }, now))
    algorithm.merge(s, 0, at, t, 0)
  }
  weighing.s = s
  weighing.carried = rule !== 'retune'
  return several.some(isShared)
}

/** A copy of the state, as it is under that algorithm. */
function under(state: State, algorithm: Algorithm, now: number, rule: StateRule): number[] {
  return isUnder(state, algorithm) ? numbersOf(state) : carriedOver(state, algorithm, now, rule)
}

function carriedOver(state: State, algorithm: Algorithm, now: number, rule: StateRule): number[] {
  if (state.policy !== closed) return carry(numbersOf(state), state.policy.algorithm, algorithm, now, rule)
  return left([state], now) < 1 ? usedUp(algorithm, now) : new Array(algorithm.slots).fill(0)
}
