/*
 * A policy is identified by its name. When its numbers change for a key (an upgrade, a new deploy), the units that the
 * key has used are carried over by one of two rules:
 *
 *     keep     70 of 100 used, now 1000: 70 used      70 of 100 used, now 50: 50 used, the whole quota
 *     scale    70 of 100 used, now 1000: 700 used     70 of 100 used, now 50: 35 used
 *
 * If the algorithm and the window stay, the times stay too: a running window keeps its end, an entry of a log leaves at its
 * time, a bucket goes on from its level. Otherwise the used units count as if they had just been taken. Units are rounded
 * up, so a change of numbers never adds to a quota. A debt is cut to the new limit.
 */
import { type Algorithm, type Numbers, Report } from './algorithm.ts'
import { effectiveTime } from './effective-time.ts'
import type { PolicyEvaluation } from './evaluation/index.ts'
import { ratioUp } from './exact-math.ts'
import { type Definition, sameDefinition, writerOf } from './kinds.ts'

/** What happens to a key's state when the numbers of its policy change. */
export type CarryRule = 'keep' | 'scale'

/** What a ledger does when numbers change. `retune` is for a rate that is set at run time: promised times stay (`adopt`). */
export type StateRule = CarryRule | 'retune'

export const carryRules: readonly CarryRule[] = ['keep', 'scale']

/**
 * The state under `to`, made of `s`, the state under `from`, whose first number is `s[0]`. It may reuse the array `s`.
 * @param now microseconds
 */
export function carry(s: number[], from: Algorithm, to: Algorithm, now: number, rule: StateRule): number[] {
  const fresh: number[] = new Array(to.slots).fill(0)
  const most = capacity(to)
  if (most === 0 || s.every((number) => number === 0)) return fresh // a limit of 0 counts nothing
  // Units in flight stay the same number under any plan.
  const kept = to.leases === true && from.leases === true
  const at = effectiveTime(from, s[0] as number, now)
  if (rule === 'retune' && to.adopt?.(s, 0, at, from)) return s
  const whole = capacity(from)
  const [times, per] = rule === 'scale' && !kept ? [most, whole] : [1, 1]
  if (to.carry(s, 0, at, from, times, per)) return s
  const used = Math.min(most, ratioUp(whole - remaining(from, s, at), times, per))
  if (used > 0) to.take(fresh, 0, at, used, 0)
  return fresh
}

/**
 * True if the key has its full quota, so that a store may forget the state at any time. A change of numbers must give the
 * same decisions whether or not the store forgot the state.
 */
export function hasFullQuota(s: Numbers, i: number, algorithm: Algorithm, now: number): boolean {
  const last = s[i] as number
  algorithm.report(s, i, effectiveTime(algorithm, last, now), report)
  return report.reset === 0 && now >= last
}

/**
 * Points the evaluation of a policy to the state of a key. A state that was written under other numbers is copied and rewritten.
 * @param left the stored state under the policy's name, with the algorithm that wrote it; undefined for a new key
 * @param copyOf copies a state
 * @throws HeadgateError `HEADGATE_STORE_RECORD` for a state of a kind that this version does not know
 */
export function pointTo(
  policy: PolicyEvaluation,
  left: { readonly definition: Definition; readonly s: Numbers } | undefined,
  now: number,
  rule: StateRule,
  copyOf: (s: Numbers) => number[] = (s) => s.slice() as number[],
): void {
  const { algorithm } = policy
  const same = left !== undefined && sameDefinition(left.definition, algorithm)
  const from = left === undefined || same ? undefined : writerOf(policy.policy.name, left.definition)
  policy.i = 0
  policy.carried = false
  policy.foreign = undefined
  if (same) policy.s = left.s
  else if (left === undefined || from === undefined) policy.s = new Array(algorithm.slots).fill(0)
  else {
    const { s } = left
    const carried = () => carry(copyOf(s), from, algorithm, now, rule)
    policy.s = carried()
    if (hasFullQuota(s, 0, from, now)) return
    policy.carried = rule !== 'retune'
    policy.foreign = { algorithm: from, s, carried }
  }
}

/** The units that a key with its full quota has. */
function capacity(algorithm: Algorithm): number {
  return remaining(algorithm, new Array(algorithm.slots).fill(0), 0)
}

const report = new Report()

function remaining(algorithm: Algorithm, s: number[], at: number): number {
  algorithm.report(s, 0, at, report)
  return report.remaining
}
