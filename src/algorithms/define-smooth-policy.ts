import { milliseconds, warnOfSeconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import { knownOptions } from '../options.ts'
import { type PolicyOptions, policySettings } from '../policy.ts'
import type { Policy } from './algorithm.ts'
import { makePolicy } from './define-policy.ts'
import type { Smooth } from './smooth.ts'

export interface SmoothOptions extends Pick<PolicyOptions, 'name' | 'scope' | 'countRefused' | 'shadow'> {
  /** Permits in `per`: any positive number, such as 5 or 0.5. */
  rate: number
  /** The time in which `rate` permits come. Default `'1s'`. */
  per?: PolicyOptions['window']
}

const common = ['rate', 'per', 'name', 'scope', 'countRefused', 'shadow']

/**
 * `definePolicy` for Guava's limiters, which take a rate in place of a limit.
 * @param build makes the arithmetic from the rate, and from `per` in milliseconds
 * @throws HeadgateError `HEADGATE_RATE` if the rate is not positive and finite, or the code of another invalid option
 */
export function defineSmoothPolicy<Options extends SmoothOptions>(
  name: string,
  options: Options,
  extra: readonly string[],
  build: (rate: number, per: number) => Smooth,
): Policy {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new HeadgateError(
      'HEADGATE_POLICY',
      `${name} takes an object, got ${shown(options)}. Write ${name}({ rate: 5 }).`,
    )
  }
  knownOptions(name, options, [...common, ...extra], ['rate'])
  const { rate, per = '1s', ...rest } = options
  if (typeof rate !== 'number' || !(rate > 0) || rate === Infinity) {
    throw new HeadgateError(
      'HEADGATE_RATE',
      `${name}: rate must be a positive, finite number of permits, got ${shown(rate)}. Give one such as 5 or 0.5.`,
    )
  }
  const window = milliseconds(per, `${name}: per`, 'HEADGATE_WINDOW')
  warnOfSeconds(per, `${name}: per`)
  const plain = Object.fromEntries(Object.entries(rest).filter(([option]) => !extra.includes(option)))
  const algorithm = build(rate, window)
  const settings = { ...policySettings(name, { ...plain, limit: 1, window }), limit: rate, burst: algorithm.most }
  return makePolicy(settings, algorithm, (limit) => defineSmoothPolicy(name, { ...options, rate: limit }, extra, build))
}
