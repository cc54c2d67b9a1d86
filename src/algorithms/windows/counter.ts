import { checkPolicyOptions, type PolicyOptions } from '../../policy/index.ts'
import type { Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { unreached } from '../state-description.ts'
import { type FixedWindowOptions, windowBuilder } from './fixed-window.ts'

/** The options of `counter`. */
export interface CounterOptions extends Pick<PolicyOptions, 'window' | 'name' | 'label' | 'scope'> {
  /**
   * `'first-request'` (default): a window opens with its first call. `'clock'`: windows are [kW, (k+1)W) since the epoch.
   */
  align?: FixedWindowOptions['align']
}

const known = ['window', 'name', 'label', 'scope', 'align']

/**
 * Counts the calls of each window and refuses none. The verdict has the count as `used`. Beside a policy that refuses, it
 * counts the refused calls too. It is a fixed window whose limit, 2^52, nobody reaches, so every store supports it. Its name
 * is `'counter'` unless you give one. Example: `counter({ window: '1h' })`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function counter(options: CounterOptions): Policy {
  checkPolicyOptions('counter', options, known, "window: '1h'")
  const { align = 'first-request', name = 'counter', ...rest } = options
  const all: FixedWindowOptions = { ...rest, name, align, limit: unreached, countRefused: true }
  return definePolicy('counter', all, ['align'], windowBuilder('counter', align))
}

/** True for a limit that no key reaches: fields of responses do not report it. */
export function isCounter({ limit }: Policy): boolean {
  return limit === unreached
}
