/*
 * Penalty: a key that is refused again and again is banned for a while, each time for longer.
 *
 * It is a policy like any other, except that it judges the refusals of the other policies and not the call. It counts
 * refused calls only, and refuses every call while a ban lasts.
 *
 *     refused   x  x x      x                         x xx
 *     count     1  2 3=after                          1 23
 *                    |<--- ban[0] --->|                  |<------- ban[1] ------->|<--- forget --->| all forgotten
 *
 * A count starts with a refusal and lasts for `within`. Calls during a ban do not count. Unless the penalty extends its
 * bans, they change nothing, so the end of a ban is known from its start. A penalty that extends starts the ban anew
 * with each refused call. A ban is remembered for `forget` after its end. The next ban within that time is the next
 * one of the list, or the last one again.
 *
 * A penalty that ends with the window has no durations. Its ban lasts as long as the refused call has to wait under the
 * other policies, and nothing is remembered afterwards. A call that never fits has no such time, and begins no ban.
 *
 * State: last (us), start of the count (us), refusals counted, bans so far, end of the ban (us).
 */
import { Algorithm, type Numbers, type Report } from '../algorithm.ts'
import { are, type Description, type Facts, type Terms, timeText, toMilliseconds } from '../state-description.ts'

/** What a penalty does beyond counting and banning. */
export interface PenaltyRules {
  /** A refused call during a ban starts the duration of that ban anew. */
  readonly extend?: boolean
  /** When a ban begins, the other policies of the key count anew. */
  readonly restart?: boolean
}

/** The number among the parameters that says which rules apply: the sum of these two. It is less than any ban. */
const extendRule = 1
const restartRule = 2
/** The shortest ban, in microseconds. */
const leastBan = 1000
const latest = Number.MAX_SAFE_INTEGER

/** What `remaining` reads for a key that is not banned: more than any real limit. */
export const unlimited: number = 2 ** 52

export class Penalty extends Algorithm {
  readonly kind = 'penalty'
  readonly parameters: readonly number[]
  readonly slots = 5
  /** A refusal stays counted, whatever is given back. */
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
  /** The longest ban; Infinity if it ends with the window. */
  readonly longest: number

  /** Times in microseconds. @param bans none for a ban that ends with the window */
  constructor(
    after: number,
    within: number,
    forget: number,
    bans: readonly number[],
    { extend = false, restart = false }: PenaltyRules = {},
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
    const rules = (extend ? extendRule : 0) + (restart ? restartRule : 0)
    // Without rules, the parameters end with the bans: then states of earlier builds keep their definition.
    this.parameters = [after, within, forget, ...bans, ...(rules > 0 ? [rules] : [])]
  }

  /** The penalty with these parameters. */
  static of([after = 0, within = 0, forget = 0, ...more]: readonly number[]): Penalty {
    const rules = more.find((number) => number < leastBan) ?? 0
    const bans = more.filter((number) => number >= leastBan)
    return new Penalty(after, within, forget, bans, {
      extend: rules % restartRule === extendRule,
      restart: rules >= restartRule,
    })
  }

  wait(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i + 4] as number) - this.#aheadAt(s, i, at) - at)
  }

  /** How far the times of the state lie ahead, because the clock went far back. */
  #aheadAt(s: Numbers, i: number, at: number): number {
    return Math.max(0, (s[i] as number) - at)
  }

  override fits(): boolean {
    return true
  }

  /** Does not count an admitted call. Only the time of the state moves, if the clock went far back. */
  take(s: Numbers, i: number, at: number): void {
    const ahead = this.#aheadAt(s, i, at)
    if (ahead === 0) return
    s[i] = at
    s[i + 1] = Math.max(0, (s[i + 1] as number) - ahead)
    s[i + 4] = Math.max(0, (s[i + 4] as number) - ahead)
  }

  override count(s: Numbers, i: number, at: number, _cost: number, wait: number): void {
    this.take(s, i, at)
    const since = at - (s[i + 4] as number)
    if (since < 0) {
      if (this.countsAlways) this.#extend(s, i, at)
      return
    }
    if (since >= this.forget) s[i + 3] = 0
    if (s[i + 2] === 0 || at - (s[i + 1] as number) >= this.within) {
      s[i + 1] = at
      s[i + 2] = 0
    }
    s[i + 2] = (s[i + 2] as number) + 1
    s[i] = at
    if ((s[i + 2] as number) >= this.after) this.#ban(s, i, at, wait)
  }

  #ban(s: Numbers, i: number, at: number, wait: number): void {
    const bans = s[i + 3] as number
    const duration = this.endsWithWindow ? wait : (this.bans[Math.min(bans, this.bans.length - 1)] as number)
    if (duration === Infinity) return
    s[i + 4] = Math.min(at + duration, latest)
    s[i + 3] = this.#atMost(bans + 1)
    s[i + 2] = 0
  }

  /** A number of bans, limited to the length of the list: its last duration repeats. */
  #atMost(bans: number): number {
    return Math.min(bans, this.bans.length || 1)
  }

  #extend(s: Numbers, i: number, at: number): void {
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
    const now = at + this.#aheadAt(s, i, at)
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
   * A ban keeps its end, but lasts for no more than the longest ban now, from the time when it began or was extended: no later
   * call of a ban changes the time of the state. A penalty that ends with the window keeps every end.
   */
  override carry(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
    s[i + 3] = this.#atMost(s[i + 3] as number)
    s[i + 4] = Math.min(s[i + 4] as number, (s[i] as number) + this.longest)
  }

  /** Keeps the later start and the higher count, and the later end and the higher number of bans. */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    this.take(s, i, at)
    const ahead = this.#aheadAt(t, j, at)
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
