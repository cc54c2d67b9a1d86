import { invalidOption, milliseconds, warnOfSeconds } from '../../common/index.ts'
import { checkPolicyOptions, type PolicyOptions, policySettings } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { makePolicy } from '../define-policy.ts'
import type { Smooth } from './smooth.ts'

export interface SmoothOptions
  extends Pick<PolicyOptions, 'name' | 'label' | 'listed' | 'scope' | 'countRefused' | 'shadow'> {
  /** How many units are admitted in each `per`: any positive number, such as 5 or 0.5. */
  rate: number
  /** The time in which `rate` units are admitted. Default `'1s'`. */
  per?: PolicyOptions['window'] | undefined
}

const common = ['rate', 'per', 'name', 'scope', 'countRefused', 'shadow', 'label', 'listed']

/**
 * Makes a policy with the algorithm of a limiter of Guava. The options of the policy have a rate in place of a limit.
 * @param build makes the algorithm from the rate, and from `per` in milliseconds
 * @throws HeadgateError `HEADGATE_RATE` if the rate is not positive and finite, or the code of another invalid option
 */
export function defineSmoothPolicy<Options extends SmoothOptions>(
  name: string,
  options: Options,
  extra: readonly string[],
  build: (rate: number, per: number) => Smooth,
): Policy {
  checkPolicyOptions(name, options, [...common, ...extra], 'rate: 5')
  const { rate, per = '1s', ...rest } = options
  if (typeof rate !== 'number' || !(rate > 0) || rate === Infinity) {
    const fix = 'Give one such as 5 or 0.5.'
    throw invalidOption(`${name}: rate`, 'a positive, finite number of units', rate, fix, 'HEADGATE_RATE')
  }
  const window = milliseconds(per, `${name}: per`, 'HEADGATE_WINDOW')
  warnOfSeconds(per, `${name}: per`)
  const plain = Object.fromEntries(Object.entries(rest).filter(([option]) => !extra.includes(option)))
  const algorithm = build(rate, window)
  const settings = { ...policySettings(name, { ...plain, limit: 1, window }), limit: rate, burst: algorithm.most }
  return makePolicy(settings, algorithm, (limit) => defineSmoothPolicy(name, { ...options, rate: limit }, extra, build))
}
