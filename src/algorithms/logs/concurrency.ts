/*
 * Units in flight: a call is admitted if fewer than `limit` units are held.
 *
 * A unit leaves when its reservation is settled or cancelled, or when its lease ends. So a process that crashes frees its
 * units by itself. Long work renews its lease.
 *
 *     lease    |----------------->|            not released: the unit leaves at the end of its lease
 *                 |--->x                       released
 *                        |---------------->|   renewed: the unit has a new lease from then on
 *                               ^------------------>
 *
 * This is a sliding log (sliding-log.ts) whose window is the lease. It promises no future time, because nobody knows when
 * a unit is released: `retryAfter` is the latest possible time.
 */
import { type Duration, milliseconds, warnOfSeconds } from '../../common/index.ts'
import { checkPolicyOptions, type PolicyOptions } from '../../policy/index.ts'
import type { Algorithm, Numbers, Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { type Description, type Facts, timeText, usedWords } from '../state-description.ts'
import { shift } from './log-entries.ts'
import { SlidingLog } from './sliding-log.ts'

export class Concurrency extends SlidingLog {
  override readonly kind = 'concurrency'
  override readonly promises = false
  override readonly leases = true

  /** A ticket keeps the end of its lease, which stays if the state goes over to a plan with another lease. */
  override bookedAt(_s: Numbers, _i: number, at: number): number {
    return at + this.span
  }

  protected override entryTime(since: number): number {
    return since - this.span
  }

  override continues(from: Algorithm): boolean {
    return from instanceof Concurrency
  }

  /** Units in flight stay the same number under any limit, and every lease keeps its end. */
  override carry(s: Numbers, i: number, at: number, from: Algorithm): void {
    from.take(s, i, at, 0, 0)
    shift(s, i, this.span - from.span)
  }

  /** If the limit was lowered, units in flight beyond it are no debt. */
  override describe(s: readonly number[], facts: Facts): Description {
    const inFlight = this.entries(s as number[]).map(({ time, units }) => ({ time: time + this.span, units }))
    const [first] = inFlight
    const ends = first === undefined ? '' : `; the first lease ends in ${timeText(first.time - facts.now)}`
    return { words: usedWords(facts, ends, 'in flight'), numbers: super.describe(s, facts).numbers, inFlight }
  }
}

/** The options of `concurrency`. */
export interface ConcurrencyOptions extends Pick<PolicyOptions, 'name' | 'label' | 'scope' | 'shadow'> {
  /** How many units may be in flight at once: a whole number from 0, such as 4. */
  limit: number
  /**
   * The longest time that a unit is held if it is neither released nor renewed: whole milliseconds, or text. Default `'1m'`.
   * Example: `'30s'`.
   */
  lease?: Duration
}

const known = ['limit', 'lease', 'name', 'label', 'scope', 'shadow']

/**
 * At most `limit` units in flight. `reserve` takes them; `settle`, `cancel` or the end of the lease frees them. Its name
 * is `'at-once'` unless you give one. Example: `concurrency({ limit: 4, lease: '30s', scope: 'user' })`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function concurrency(options: ConcurrencyOptions): Policy {
  checkPolicyOptions('concurrency', options, known, 'limit: 4')
  const { lease = '1m', name = 'at-once', ...rest } = options
  milliseconds(lease, 'concurrency: lease', 'HEADGATE_WINDOW')
  warnOfSeconds(lease, 'concurrency: lease')
  const window = typeof lease === 'number' ? `${lease}ms` : lease
  return definePolicy('concurrency', { ...rest, name, window }, [], ({ limit }, span) => new Concurrency(limit, span))
}
