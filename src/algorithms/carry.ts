/*
 * A policy is identified by its name. When its numbers change for a key (an upgrade, a new deploy), the units that the key has used are
 * carried over by one of two rules:
 *
 *     keep     70 of 100 used, now 1000: 70 used      70 of 100 used, now 50: 50 used, the whole quota
 *     scale    70 of 100 used, now 1000: 700 used     70 of 100 used, now 50: 35 used
 *
 * If the algorithm and the window do not change, the times do not change either: a running window ends at the same time as before, an
 * entry of a log expires at the same time, and a bucket has the same level. Otherwise an admitted call counts the used units as if they
 * had just been taken. Units are rounded up, so a change of numbers never adds to a quota. Above 2^45 units, `scale` does the same as
 * `keep`.
 *
 * Only an admitted call rewrites a state under the new numbers. Until then, used units become free as under the old numbers. So a
 * refused call waits until enough units have become free under the old numbers for the call to fit under the new numbers:
 *
 *     keep     70 of 100 used, now 50: one unit is admitted when 49 are used, which is when 51 of the old 100 are free
 */
import { type Algorithm, type Numbers, Report } from './algorithm.ts'
import { effectiveTime } from './effective-time.ts'
import type { ForeignState, PolicyEvaluation } from './evaluation/index.ts'
import { maxFactor, ratioUp } from './exact-math.ts'
import { type Definition, sameDefinition, writerOf } from './kinds.ts'

/**
 * How the units that a key has used are counted after the numbers of a policy have changed. `keep`: their number does not change.
 * `scale`: their number is multiplied by the new limit divided by the old limit.
 */
export type CarryRule = 'keep' | 'scale'

/** A rule, or `retune` for a rate that is set at run time. With `retune`, times promised to reservations do not change (`adopt`). */
export type StateRule = CarryRule | 'retune'

export const carryRules: readonly CarryRule[] = ['keep', 'scale']

/**
 * Converts a state of the algorithm `from` into a state of the algorithm `to`. `s[0]` is the first number of the given state. The returned array may
 * be `s`.
 * @param now the time in microseconds
 */
export function carry(s: number[], from: Algorithm, to: Algorithm, now: number, rule: StateRule): number[] {
  const fresh: number[] = new Array(to.slots).fill(0)
  const [most, whole] = [capacity(to), capacity(from)]
  if (most === 0 || s.every((number) => number === 0)) return fresh // a limit of 0 counts nothing
  const at = effectiveTime(from, s[0] as number, now)
  if (rule === 'retune' && to.adopt?.(s, 0, at, from)) return s
  if (hasFullQuota(s, 0, from, now)) return fresh
  const [times, per] = scales(from, to, rule) ? [most, whole] : [1, 1]
  if (to.continues(from)) {
    to.carry(s, 0, at, from, times, per)
    return s
  }
  const used = Math.min(most, ratioUp(whole - remaining(from, s, at), times, per))
  if (used > 0) to.take(fresh, 0, at, used, 0)
  return fresh
}

/**
 * True if used units are multiplied in proportion to the limits. False for units of unfinished calls, because their number does not change.
 */
function scales(from: Algorithm, to: Algorithm, rule: StateRule): boolean {
  if (rule !== 'scale' || (from.leases && to.leases)) return false
  return Math.max(capacity(from), capacity(to)) <= maxFactor
}

/** A state that `from` wrote, for decisions of a policy with another limit or window (`to`). A refused call does not change the state. */
class CarriedState implements ForeignState {
  readonly algorithm: Algorithm
  readonly s: Numbers
  readonly #to: Algorithm
  readonly #now: number
  readonly #rule: StateRule
  readonly #copyOf: (s: Numbers) => number[]

  constructor(
    from: Algorithm,
    s: Numbers,
    to: Algorithm,
    now: number,
    rule: StateRule,
    copyOf: (s: Numbers) => number[],
  ) {
    this.algorithm = from
    this.s = s
    this.#to = to
    this.#now = now
    this.#rule = rule
    this.#copyOf = copyOf
  }

  carried(): number[] {
    return carry(this.#copyOf(this.s), this.algorithm, this.#to, this.#now, this.#rule)
  }

  wait(cost: number, own: number): number {
    const { s, algorithm: from } = this
    const to = this.#to
    // `own` is the wait under the copy with the new limit. With `retune`, this wait is exact, because the next call stores the copy. For a
    // penalty, this wait is exact, because the copy has the end of the ban.
    if (own === Infinity || this.#rule === 'retune' || to.punishes) return own
    const at = effectiveTime(from, s[0] as number, this.#now)
    const [most, whole] = [capacity(to), capacity(from)]
    const scaled = scales(from, to, this.#rule)
    if (!scaled || !to.continues(from)) {
      const left = to.paysLater ? whole : scaled ? ratioUp(cost, whole, most) : whole - most + cost
      return from.wait(s, 0, at, left) + (at - this.#now)
    }
    return from.scaledWait === undefined ? own : from.scaledWait(s, 0, at, cost, most) + (at - this.#now)
  }

  reset(own: number): number {
    if (this.#rule === 'retune' || capacity(this.#to) === 0) return own
    const at = effectiveTime(this.algorithm, this.s[0] as number, this.#now)
    this.algorithm.report(this.s, 0, at, report)
    return report.reset + (at - this.#now)
  }
}

/**
 * True if the key has its full quota. A store may forget such a state at any time. So after a change of a policy's numbers, such a state is
 * handled like a missing state.
 */
export function hasFullQuota(s: Numbers, i: number, algorithm: Algorithm, now: number): boolean {
  const last = s[i] as number
  algorithm.report(s, i, effectiveTime(algorithm, last, now), report)
  return report.reset === 0 && now >= last
}

/**
 * Points the evaluation of a policy to the state of a key. A state that was written under another limit or window is copied, and the copy
 * is converted to the policy's limit and window.
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
    const state = new CarriedState(from, s, algorithm, now, rule, copyOf)
    policy.s = state.carried()
    if (hasFullQuota(s, 0, from, now)) return
    policy.carried = rule !== 'retune'
    policy.foreign = state
  }
}

/** How many units a key that has its full quota may use now. */
function capacity(algorithm: Algorithm): number {
  return remaining(algorithm, new Array(algorithm.slots).fill(0), 0)
}

const report = new Report()

function remaining(algorithm: Algorithm, s: number[], at: number): number {
  algorithm.report(s, 0, at, report)
  return report.remaining
}
