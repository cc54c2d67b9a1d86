import { milliseconds } from '../duration.ts'
import { HeadgateError, shown } from '../errors.ts'
import { knownOptions } from '../options.ts'
import { terms as commonTerms, type PolicyOptions } from '../policy.ts'
import { makePolicy, type Policy } from './algorithm.ts'
import type { Smooth } from './smooth.ts'

export interface SmoothOptions extends Pick<PolicyOptions, 'name' | 'scope' | 'countRefused' | 'shadow'> {
  /** Permits in `per`: any positive number. */
  rate: number
  /** Default `'1s'`. */
  per?: PolicyOptions['window']
}

const common = ['rate', 'per', 'name', 'scope', 'countRefused', 'shadow']

/**
 * Validates the options and joins them with the arithmetic that `build` makes of the rate and `per` in milliseconds.
 * @throws HeadgateError `HEADGATE_RATE` unless the rate is positive and finite, else the code of what is out of range
 */
export function defineSmooth<Options extends SmoothOptions>(
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
  knownOptions(name, options, [...common, ...extra])
  const { rate, per = '1s', ...rest } = options
  if (typeof rate !== 'number' || !(rate > 0) || rate === Infinity) {
    throw new HeadgateError(
      'HEADGATE_RATE',
      `${name}: rate must be a positive, finite number of permits, got ${shown(rate)}. Give one such as 5 or 0.5.`,
    )
  }
  const window = milliseconds(per, `${name}: per`, 'HEADGATE_WINDOW')
  const plain = Object.fromEntries(Object.entries(rest).filter(([option]) => !extra.includes(option)))
  const algorithm = build(rate, window)
  const promise = { ...commonTerms(name, { ...plain, limit: 1, window }), limit: rate, burst: algorithm.most }
  return makePolicy(promise, algorithm, (limit) => defineSmooth(name, { ...options, rate: limit }, extra, build))
}
