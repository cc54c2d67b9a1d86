/*
 * A policy is identified by its name. When its numbers change for a key (an upgrade, a new deploy), the units that the
 * key has used are carried over by one of two rules:
 *
 *     keep     70 of 100 used, now 1000: 70 used      70 of 100 used, now 50: 50 used, the whole quota
 *     scale    70 of 100 used, now 1000: 700 used     70 of 100 used, now 50: 35 used
 *
 * If the algorithm and the window stay, the times stay too. A window ends when it would have ended, an entry of a log
 * leaves when it would have left, a bucket goes on from its level. Otherwise the used units count as if they had just been
 * taken. Units are rounded up, so a change of numbers never gives any away. A debt ends at the new limit.
 */
import { type Algorithm, type Numbers, Report } from './algorithm.ts'
import { effectiveTime } from './effective-time.ts'
import type { PolicyEvaluation } from './evaluation/index.ts'
import { ratioUp } from './exact-math.ts'
import { type Definition, revive, sameDefinition } from './kinds.ts'

/** What happens to a key's state when the numbers of its policy change. */
export type CarryRule = 'keep' | 'scale'

/** The rules of a ledger. `retune` is for a rate that is set at run time: it keeps the times that were promised (`adopt`). */
export type StateRule = CarryRule | 'retune'

export const carryRules: readonly CarryRule[] = ['keep', 'scale']

/**
 * The state under `to` of a key whose state under `from` is `s`. It may reuse `s`, which starts at its first number.
 * @param now microseconds
 */
export function carry(s: number[], from: Algorithm, to: Algorithm, now: number, rule: StateRule): number[] {
  const fresh: number[] = new Array(to.slots).fill(0)
  const most = capacity(to)
  if (most === 0 || s.every((number) => number === 0)) return fresh // a limit of 0 counts nothing
  // Units in flight are as many under any plan.
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
 * True if the key has its full quota, so that a store may forget the state at any time. Nothing that follows from a carry
 * may depend on whether the store did.
 */
export function hasFullQuota(s: Numbers, i: number, algorithm: Algorithm, now: number): boolean {
  const last = s[i] as number
  algorithm.report(s, i, effectiveTime(algorithm, last, now), report)
  return report.reset === 0 && now >= last
}

/**
 * Points a policy to the state of a key. A state that was left under other numbers is carried over, in a copy.
 * @param left the state under the policy's name, and what wrote it; undefined for a new key
 * @param copyOf copies the state
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
  const from = left === undefined || same ? undefined : revive(left.definition)
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

/** The full quota. */
function capacity(algorithm: Algorithm): number {
  return remaining(algorithm, new Array(algorithm.slots).fill(0), 0)
}

const report = new Report()

function remaining(algorithm: Algorithm, s: number[], at: number): number {
  algorithm.report(s, 0, at, report)
  return report.remaining
}
