import { checkPolicyOptions, type PolicyOptions } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { unreached } from '../inspected-state.ts'
import { type FixedWindowOptions, windowBuilder } from './fixed-window.ts'

/** The options of `counter`. */
export interface CounterOptions extends Pick<PolicyOptions, 'window' | 'name' | 'label' | 'scope'> {
  /**
   * `'first-request'` (default): a window starts with its first call. `'clock'`: windows start at multiples of their length
   * since the epoch.
   */
  align?: FixedWindowOptions['align']
}

const known = ['window', 'name', 'label', 'scope', 'align']

/**
 * Counts the units of each window and refuses no call until it has counted 2^52 units. So bound a cost that a client chooses. The count is
 * `used` in the verdict of this policy (its part of a decision). This count includes calls that other policies refuse. A counter is a fixed
 * window with the limit 2^52, so every store supports it. The default name is `'counter'`. Example: `counter({ window: '1h' })`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function counter(options: CounterOptions): Policy {
  checkPolicyOptions('counter', options, known, "window: '1h'")
  const { align = 'first-request', name = 'counter', ...rest } = options
  const all: FixedWindowOptions = { ...rest, name, align, limit: unreached, countRefused: true }
  return definePolicy('counter', all, ['align'], windowBuilder('counter', align))
}

/** True for the policy of a counter: header fields of HTTP responses do not report its limit. */
export function isCounter({ limit }: Policy): boolean {
  return limit === unreached
}
