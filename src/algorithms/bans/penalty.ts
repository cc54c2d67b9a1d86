/*
 * Penalty: a key that is refused again and again is banned for a while, each time for longer.
 *
 * A penalty is a policy like any other, except that it counts only the calls that the other policies refuse. While a ban lasts, the
 * penalty refuses every call.
 *
 *     refused   x  x x      x                         x xx
 *     count     1  2 3=after                          1 23
 *                    |<--- ban[0] --->|                  |<------- ban[1] ------->|<--- forget --->| all forgotten
 *
 * A count starts with a refusal and lasts for `within`. Calls during a ban do not count. Without `extend`, calls during a ban change
 * nothing, so the end of the ban is known when the ban begins. With `extend`, each refused call during a ban starts the duration of the
 * ban again. A ban is remembered for `forget` after its end. A ban that begins within that time lasts for the next duration of the
 * list; the last duration repeats.
 *
 * A penalty with `until: 'window'` has no durations. A ban lasts as long as the refused call has to wait under the other policies, and
 * the ban is not remembered after its end. A call whose cost can never be admitted begins no ban.
 *
 * State: last (us), start of the count (us), refusals counted, bans so far, end of the ban (us).
 */
import { Algorithm, type Numbers, type Report } from '../algorithm.ts'
import { are, type Description, type Facts, type Terms, timeText, toMilliseconds } from '../inspected-state.ts'

/** The optional rules of a penalty. */
export interface PenaltyRules {
  /** True if a refused call during a ban starts the duration of that ban again. */
  readonly extend?: boolean
  /** True if the start of a ban resets the other policies of the key. */
  readonly restart?: boolean
  /** True if bans begin when the quota is spent (spent-penalty.ts), and not after refusals. */
  readonly spent?: boolean
}

/**
 * Each rule of a penalty has a number, and one of the parameters is the sum of the numbers of the rules that apply. The sum is at most 7
 * and a ban lasts at least 1000 us, so the sum differs from the durations among the parameters.
 */
const extendRule = 1
const restartRule = 2
const spentRule = 4
/** The shortest ban, in microseconds. */
const leastBan = 1000
const latest = Number.MAX_SAFE_INTEGER

/** The value of `remaining` for a key that is not banned: more than any real limit. */
export const unlimited: number = 2 ** 52

export class Penalty extends Algorithm {
  readonly kind = 'penalty'
  readonly parameters: readonly number[]
  readonly slots: number = 5
  /** False, because a counted refusal stays counted even if a later call gives units back. */
  override readonly settles = false
  override readonly punishes = true
  readonly span: number
  readonly after: number
  readonly within: number
  readonly forget: number
  readonly bans: readonly number[]
  declare readonly countsAlways: boolean
  declare readonly restarts: boolean
  declare readonly endsWithWindow: boolean
  /** The longest ban, in microseconds; Infinity if bans end with the window. */
  readonly longest: number

  /**
   * All times are in microseconds.
   * @param bans the durations of the first ban, the second ban and so on; none if bans end with the window
   */
  constructor(
    after: number,
    within: number,
    forget: number,
    bans: readonly number[],
    { extend = false, restart = false, spent = false }: PenaltyRules = {},
  ) {
    super()
    this.after = after
    this.within = within
    this.forget = forget
    this.bans = bans
    this.span = Math.max(within, ...bans)
    this.countsAlways = extend
    this.restarts = restart
    this.endsWithWindow = bans.length === 0
    this.longest = this.endsWithWindow ? Infinity : Math.max(...bans)
    const rules = (extend ? extendRule : 0) + (restart ? restartRule : 0) + (spent ? spentRule : 0)
    // A sum of 0 is left out: earlier builds wrote no sum, and the states of earlier builds must stay usable.
    this.parameters = [after, within, forget, ...bans, ...(rules > 0 ? [rules] : [])]
  }

  /** Reads the durations of the bans, and the rules, from the parameters after the first three. */
  protected static rulesOf(more: readonly number[]): { bans: readonly number[]; rules: Required<PenaltyRules> } {
    const sum = more.find((number) => number < leastBan) ?? 0
    const has = (rule: number) => Math.floor(sum / rule) % 2 === 1
    const rules = { extend: has(extendRule), restart: has(restartRule), spent: has(spentRule) }
    return { bans: more.filter((number) => number >= leastBan), rules }
  }

  wait(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i + 4] as number) - this.aheadAt(s, i, at) - at)
  }

  /** By how many microseconds `at` is before the time of the state; 0 if `at` is not before that time. */
  protected aheadAt(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i] as number) - at)
  }

  override fits(): boolean {
    return true
  }

  /** An admitted call is not counted: only the times of the state change, if `at` is before the time of the state. */
  take(s: Numbers, i: number, at: number): void {
    const ahead = this.aheadAt(s, i, at)
    if (ahead === 0) return
    s[i] = at
    s[i + 1] = Math.max(0, (s[i + 1] as number) - ahead)
    s[i + 4] = Math.max(0, (s[i + 4] as number) - ahead)
  }

  override count(s: Numbers, i: number, at: number, _cost: number, wait: number): void {
    this.take(s, i, at)
    const since = at - (s[i + 4] as number)
    if (since < 0) {
      if (this.countsAlways) this.prolong(s, i, at)
      return
    }
    if (since >= this.forget) s[i + 3] = 0
    if (s[i + 2] === 0 || at - (s[i + 1] as number) >= this.within) {
      s[i + 1] = at
      s[i + 2] = 0
    }
    s[i + 2] = (s[i + 2] as number) + 1
    s[i] = at
    if ((s[i + 2] as number) >= this.after) this.begin(s, i, at, wait)
  }

  protected begin(s: Numbers, i: number, at: number, wait: number): void {
    const bans = s[i + 3] as number
    const duration = this.endsWithWindow ? wait : (this.bans[Math.min(bans, this.bans.length - 1)] as number)
    if (duration === Infinity) return
    s[i + 4] = Math.min(at + duration, latest)
    s[i + 3] = this.#atMost(bans + 1)
    s[i + 2] = 0
  }

  /** Limits a number of bans to the length of the list of durations, because the last duration repeats. */
  #atMost(bans: number): number {
    return Math.min(bans, this.bans.length || 1)
  }

  protected prolong(s: Numbers, i: number, at: number): void {
    s[i + 4] = Math.max(s[i + 4] as number, at + (this.bans[(s[i + 3] as number) - 1] as number))
    s[i] = at
  }

  override unban(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
    if ((s[i + 2] as number) === 0 && (s[i + 4] as number) <= at) return
    s[i] = at
    s[i + 2] = 0
    s[i + 4] = Math.min(s[i + 4] as number, at)
  }

  override refund(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
  }

  report(s: Numbers, i: number, at: number, out: Report): void {
    const now = at + this.aheadAt(s, i, at)
    const end = s[i + 4] as number
    const counted = (s[i + 2] as number) > 0 ? (s[i + 1] as number) + this.within : 0
    const forgotten = (s[i + 3] as number) > 0 ? end + this.forget : 0
    out.used = now < counted ? (s[i + 2] as number) : 0
    out.remaining = end > now ? 0 : unlimited - out.used
    out.reset = Math.max(0, counted - now, forgotten - now)
  }

  override continues(from: Algorithm): boolean {
    return from instanceof Penalty
  }

  /**
   * The end of a ban does not change, unless the ban would last longer than the longest ban of this penalty. The time of the state is the
   * time when the ban began or was extended, because other calls during a ban do not change it. If bans end with the window, no end
   * changes. The open units of a penalty with `on: 'spent'` (spent-penalty.ts) do not become counted refusals.
   */
  override carry(s: Numbers, i: number, at: number, from: Algorithm): void {
    this.take(s, i, at)
    if (from.spends) {
      s[i + 2] = 0
      if (Array.isArray(s)) s.length = i + 5
    }
    s[i + 3] = this.#atMost(s[i + 3] as number)
    s[i + 4] = Math.min(s[i + 4] as number, (s[i] as number) + this.longest)
  }

  /** Merges two states: the result has the later times, and the higher numbers of refusals and bans. */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    this.take(s, i, at)
    const ahead = this.aheadAt(t, j, at)
    const start = (t[j + 1] as number) - ahead
    const counted = at - start < this.within ? (t[j + 2] as number) : 0
    if (at - (s[i + 1] as number) >= this.within) s[i + 2] = 0
    if (counted > 0) s[i + 1] = Math.max(s[i + 2] === 0 ? 0 : (s[i + 1] as number), start)
    s[i + 2] = Math.max(s[i + 2] as number, counted)
    s[i + 3] = Math.max(s[i + 3] as number, t[j + 3] as number)
    s[i + 4] = Math.max(s[i + 4] as number, (t[j + 4] as number) - ahead)
    s[i] = at
  }

  override get terms(): Terms {
    return { limit: this.after, window: this.within / 1000, burst: this.after }
  }

  override describe(s: readonly number[], facts: Facts): Description {
    const [, start = 0, refusals = 0, bans = 0, end = 0] = s
    const numbers = { refusals, countStart: toMilliseconds(start), bans, bannedUntil: toMilliseconds(end) }
    return { words: this.#words(bans, end, facts), numbers }
  }

  #words(bans: number, end: number, { now, used, retry, reset }: Facts): string {
    const which = this.endsWithWindow ? '' : ` (ban ${bans})`
    if (retry > 0) return `Banned for ${timeText(retry)} more, because it was refused too often${which}`
    const remembered = end + this.forget - now
    const before = bans > 0 && remembered > 0 ? `; the last ban is remembered for ${timeText(remembered)} more` : ''
    if (used === 0) return `No refusal is counted${before}`
    const left = before === '' ? `, for ${timeText(reset)} more` : ''
    return `${used} of ${this.after} refusals that lead to a ban ${are(used)} counted${left}${before}`
  }
}
