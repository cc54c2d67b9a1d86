/*
 * A policy is who it is by its name. When its numbers change for a key (an upgrade, a new deploy), what the key has used
 * goes with it, by one of three rules:
 *
 *     keep     70 of 100 used, now 1000: 70 used      70 of 100 used, now 50: 50 used, the most there is
 *     scale    70 of 100 used, now 1000: 700 used     70 of 100 used, now 50: 35 used
 *     reset    like new
 *
 * Within one algorithm and window the times stay too: a window ends when it would have, an entry leaves when it would
 * have, a bucket goes on from its level. Otherwise the units that are used at that moment count as if just taken. What
 * has to be rounded is rounded up: no change of numbers gives anything away. A debt ends at the new limit.
 */
import { type Algorithm, type Numbers, Report } from './algorithm.ts'
import { effectiveTime } from './evaluation.ts'
import { ratioUp } from './exact.ts'

/** What becomes of a key's state when the numbers of its policy change. */
export type CarryRule = 'keep' | 'scale' | 'reset'

/** The rules of a ledger: also that of a rate set at run time, which keeps the times that were promised (`adopt`). */
export type StateRule = CarryRule | 'retune'

export const carryRules: readonly CarryRule[] = ['keep', 'scale', 'reset']

/**
 * The state under `to` of a key whose state under `from` is `s`, which is used up. `s` begins at its first number.
 * @param now microseconds
 */
export function carry(s: number[], from: Algorithm, to: Algorithm, now: number, rule: StateRule): number[] {
  const fresh: number[] = new Array(to.slots).fill(0)
  if (rule === 'reset' || s.every((number) => number === 0)) return fresh
  const at = effectiveTime(from, s[0] as number, now)
  if (rule === 'retune' && to.adopt?.(s, 0, at, from)) return s
  const most = capacity(to)
  const whole = capacity(from)
  const [times, per] = rule === 'scale' ? [most, whole] : [1, 1]
  if (to.carry(s, 0, at, from, times, per)) return s
  const used = Math.min(most, ratioUp(whole - remaining(from, s, at), times, per))
  if (used > 0) to.take(fresh, 0, at, used, 0)
  return fresh
}

/**
 * Whether the state cannot be told from that of a new key, so that it may be forgotten at any time: whether a key was
 * carried over or not must not depend on it.
 */
export function isLikeNew(s: Numbers, i: number, algorithm: Algorithm, now: number): boolean {
  const last = s[i] as number
  algorithm.report(s, i, effectiveTime(algorithm, last, now), report)
  return report.reset === 0 && now >= last
}

/** What a new key has. */
function capacity(algorithm: Algorithm): number {
  return remaining(algorithm, new Array(algorithm.slots).fill(0), 0)
}

const report = new Report()

function remaining(algorithm: Algorithm, s: number[], at: number): number {
  algorithm.report(s, 0, at, report)
  return report.remaining
}
