/*
 * Units in flight: units of admitted calls that are not finished. A call is admitted if its cost and the units in flight are
 * at most `limit` together.
 *
 * A unit is freed when its reservation is settled or cancelled, or when its lease ends. So units of a process that crashed
 * are freed too. Work that takes longer than a lease renews its lease.
 *
 *     lease    |----------------->|            not released: the unit is freed at the end of its lease
 *                 |--->x                       released
 *                        |---------------->|   renewed at ^: a new lease begins
 *                               ^------------------>
 *
 * This is a sliding log (sliding-log.ts) whose window is the lease. Nothing can be reserved for a future time, because nobody
 * knows when a unit is released: `retryAfter` is the longest possible wait.
 */
import { type Duration, milliseconds, warnOfSeconds } from '../../common/index.ts'
import { checkPolicyOptions, type PolicyOptions, type PolicySettings } from '../../policy/index.ts'
import type { Algorithm, Numbers, Policy } from '../algorithm.ts'
import { definePolicy } from '../define-policy.ts'
import { type Description, type Facts, timeText, usedWords } from '../inspected-state.ts'
import { shift } from './log-entries.ts'
import { SlidingLog } from './sliding-log.ts'

export class Concurrency extends SlidingLog {
  override readonly kind = 'concurrency'
  override readonly promises = false
  override readonly leases = true

  /**
   * Returns the end of the lease of a call. The ticket of the call has this time, and `settle` finds the units of the call by it. The end
   * does not change if the policy's option `lease` changes later.
   */
  override bookedAt(_s: Numbers, _i: number, at: number): number {
    return at + this.span
  }

  protected override entryTime(since: number): number {
    return since - this.span
  }

  override continues(from: Algorithm): boolean {
    return from instanceof Concurrency
  }

  /**
   * Takes over a state that was written with another `limit` or `lease`: the state's units stay in flight, and each lease ends at the
   * same time as before.
   */
  override carry(s: Numbers, i: number, at: number, from: Algorithm): void {
    from.take(s, i, at, 0, 0)
    shift(s, i, this.span - from.span)
  }

  /**
   * Describes the state without a debt. After the limit was lowered, more units than the limit may be in flight: the key
   * does not owe these units.
   */
  override describe(s: readonly number[], facts: Facts): Description {
    const inFlight = this.entries(s as number[]).map(({ time, units }) => ({ time: time + this.span, units }))
    const [first] = inFlight
    const ends = first === undefined ? '' : `; the first lease ends in ${timeText(first.time - facts.now)}`
    return { words: usedWords(facts, ends, 'in flight'), numbers: super.describe(s, facts).numbers, inFlight }
  }
}

/** The options of `concurrency`. */
export interface ConcurrencyOptions extends Pick<PolicyOptions, 'name' | 'label' | 'listed' | 'scope' | 'shadow'> {
  /** How many units may be in flight (used by unfinished calls) at the same time: a whole number from 0, such as 4. */
  limit: number
  /**
   * The time after which a unit is freed, if the unit was neither released nor renewed: whole milliseconds, or text such as `'30s'`.
   * Default `'1m'`.
   */
  lease?: Duration | undefined
  /**
   * The longest wait that a response reports to a refused client, in `Retry-After` and in the body: whole milliseconds, or text such as
   * `'1s'`, at most the lease. Does not change `retryAfter` of decisions, which is the time to the end of a lease. Default: responses report
   * the time to the end of a lease, although most units are released long before.
   */
  retryAfter?: Duration | undefined
}

const known = ['limit', 'lease', 'retryAfter', 'name', 'label', 'listed', 'scope', 'shadow']

/**
 * At most `limit` units in flight (used by unfinished calls). `reserve` takes units; `settle`, `cancel` or the end of the lease frees the
 * units. The default name is `'at-once'`. Example: `concurrency({ limit: 4, lease: '30s', scope: 'user' })`.
 * @throws HeadgateError if an option is unknown or out of range
 */
export function concurrency(options: ConcurrencyOptions): Policy {
  checkPolicyOptions('concurrency', options, known, 'limit: 4')
  const { lease = '1m', retryAfter: hint, name = 'at-once', ...rest } = options
  const most = milliseconds(lease, 'concurrency: lease', 'HEADGATE_WINDOW')
  warnOfSeconds(lease, 'concurrency: lease')
  const window = typeof lease === 'number' ? `${lease}ms` : lease
  const retryAfter = hint === undefined ? {} : { retryAfter: readHint(hint, most) }
  const build = ({ limit }: PolicySettings, span: number) => new Concurrency(limit, span)
  return definePolicy('concurrency', { ...rest, name, window }, [], build, () => retryAfter)
}

function readHint(hint: Duration, lease: number): number {
  warnOfSeconds(hint, 'concurrency: retryAfter')
  return milliseconds(hint, 'concurrency: retryAfter', 'HEADGATE_OPTION', 1, lease)
}
