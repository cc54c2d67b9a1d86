/*
 * Thresholds: parts of a quota that are reported once per window. A threshold of 0.8 is reported when an admitted call leaves 80 of 100
 * units used. The state remembers the largest reported part until the window ends. So if units are given back and used again, the same
 * threshold is not reported again.
 *
 * The state stores the part, and not the units. So a threshold is not reported again if the limit changes while the window runs.
 */
import { HeadgateError, shown } from '../common/index.ts'
import type { Policy } from './algorithm.ts'
import { ratioUp } from './exact-math.ts'

/** A part of a policy's quota that is reported when a call reaches it. */
export interface Threshold {
  /** The part of the quota in millionths, as states remember it. */
  readonly part: number
  /** The smallest number of used units that reaches the part. */
  readonly units: number
}

const millionths = 1_000_000
const mostThresholds = 20

/**
 * Checks the option `thresholds`, and returns the parts in ascending order; undefined if the option is not set.
 * @throws HeadgateError `HEADGATE_OPTION` if the option is not a list of different parts
 */
export function readThresholds(given: readonly number[] | undefined, name: string): readonly number[] | undefined {
  if (given === undefined) return undefined
  const list = Array.isArray(given) ? (given as readonly number[]) : []
  if (areParts(list)) return Object.freeze([...list].sort((a, b) => a - b))
  const ofPercent = list.map((percent) => (percent >= 1 ? Math.round(percent * 10_000) / millionths : Number.NaN))
  const fix = areParts(ofPercent) ? ofPercent.join(', ') : '0.8, 1'
  const got = Array.isArray(given)
    ? `[${list.slice(0, 8).map(shown).join(', ')}${list.length > 8 ? ', ...' : ''}]`
    : shown(given)
  throw new HeadgateError(
    'HEADGATE_OPTION',
    `${name} must be a list of 1 to ${mostThresholds} different parts of the quota, above 0 and at most 1, with up to 6 decimals, ` +
      `got ${got}. Write thresholds: [${fix}].`,
  )
}

function areParts(list: readonly number[]): boolean {
  const isPart = (part: number) => part > 0 && part <= 1 && Math.round(part * millionths) / millionths === part
  return list.length > 0 && list.length <= mostThresholds && list.every(isPart) && new Set(list).size === list.length
}

/** The thresholds of a policy, in ascending order. */
export function thresholdsOf({ thresholds = [], limit }: Policy): readonly Threshold[] {
  if (limit === 0) return []
  return thresholds.map((each) => {
    const part = Math.round(each * millionths)
    return { part, units: ratioUp(limit, part, millionths) }
  })
}

/** The part of the quota as a fraction, such as 0.8. */
export function partOf({ part }: Threshold): number {
  return part / millionths
}
