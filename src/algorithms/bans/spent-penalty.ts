/*
 * A penalty with `on: 'spent'`: a ban begins with the call that takes the last unit of a policy. Refusals begin no ban.
 *
 * A reservation may give its units back, so these units do not begin a ban before the settlement. Units of a reservation that is not
 * settled are open:
 *
 *     limit 3     reserve  reserve  reserve  settle   cancel   reserve  settle   settle
 *     used           1        2        3        3        2        3        3        3
 *     open           1        2        3        2        1        2        1        0     ban, because used - open is the limit
 *
 * If a process dies, its reservations are never settled, and their units would stay open. So time is divided into generations, each as
 * long as the longest window of the policies. If no unit is open, a new generation begins with the next reservation. Only units of the
 * present and the previous generation count as open. Older units are forgotten.
 *
 *     s[1] is the start of      |<-- s[5]: before -->|<-- s[2]: present -->|
 *     the present generation                        s[1]            s[1] + within
 *
 * State: last (us), start of the generation (us), its open units, bans so far, end of the ban (us), open units of the generation before.
 */
import type { Algorithm, Numbers, Report, Ticket } from '../algorithm.ts'
import { type Description, type Facts, timeText, toMilliseconds } from '../inspected-state.ts'
import { Penalty, type PenaltyRules, unlimited } from './penalty.ts'

export class SpentPenalty extends Penalty {
  override readonly slots = 6
  override readonly spends = true
  declare readonly unreset: SpentPenalty | undefined

  /**
   * All times are in microseconds.
   * @param within the longest window of the policies
   * @param resets false for the penalty in `unreset`, whose bans reset no policy when they start
   */
  constructor(within: number, forget: number, bans: readonly number[], rules: PenaltyRules = {}, resets = true) {
    super(1, within, forget, bans, { ...rules, spent: true })
    this.unreset = resets ? new SpentPenalty(within, forget, bans, rules, false) : undefined
  }

  /** Makes a `SpentPenalty` or a `Penalty` from stored parameters. */
  static of([after = 0, within = 0, forget = 0, ...more]: readonly number[]): Penalty {
    const { bans, rules } = Penalty.rulesOf(more)
    return rules.spent ? new SpentPenalty(within, forget, bans, rules) : new Penalty(after, within, forget, bans, rules)
  }

  /** A refusal changes the state only during a ban: with the rule `extend`, the ban ends later. */
  override count(s: Numbers, i: number, at: number, cost: number, wait: number): void {
    if (this.wait(s, i, at) > 0) super.count(s, i, at, cost, wait)
    else this.take(s, i, at)
  }

  override spend(s: Numbers, i: number, at: number): number {
    this.take(s, i, at)
    const since = at - (s[i + 4] as number)
    if (since < 0) return 0
    if (since >= this.forget) s[i + 3] = 0
    const open = s[i + 2] as number
    this.begin(s, i, at, 0)
    s[i + 2] = open
    s[i] = at
    return (s[i + 4] as number) - at
  }

  /** If no unit is open, a generation begins now. So a store may forget a state without open units. */
  override hold(s: Numbers, i: number, at: number, units: number): Ticket {
    const [present, before] = this.#openUnits(s, i, at)
    if (present + before === 0) {
      s[i + 5] = 0
      s[i + 1] = at
      s[i + 2] = 0
    } else if (at - (s[i + 1] as number) >= this.within) {
      s[i + 5] = present
      s[i + 1] = (s[i + 1] as number) + this.within
      s[i + 2] = 0
    }
    s[i + 2] = (s[i + 2] as number) + units
    s[i] = at
    return [s[i + 1] as number, 0, units]
  }

  /**
   * The settled units of a reservation are no longer open. The ticket has the start of the generation (a span of `within`) in which these
   * units were reserved.
   */
  override settle(s: Numbers, i: number, at: number, units: number, [since]: Ticket): void {
    const age = (s[i + 1] as number) - since
    const slot = age === 0 ? 2 : 5
    if (age !== 0 && age !== this.within) return
    s[i + slot] = Math.max(0, (s[i + slot] as number) - units)
    s[i] = at
  }

  override unban(s: Numbers, i: number, at: number): void {
    this.take(s, i, at)
    if ((s[i + 4] as number) <= at) return
    s[i] = at
    s[i + 4] = at
  }

  override report(s: Numbers, i: number, at: number, out: Report): void {
    const now = at + this.aheadAt(s, i, at)
    const [end, start] = [s[i + 4] as number, s[i + 1] as number]
    const [present, before] = this.#openUnits(s, i, now)
    const closed = present > 0 ? start + 2 * this.within : before > 0 ? start + this.within : 0
    const forgotten = (s[i + 3] as number) > 0 ? end + this.forget : 0
    out.used = present + before
    out.remaining = end > now ? 0 : Math.max(0, unlimited - out.used)
    out.reset = Math.max(0, closed - now, forgotten - now)
  }

  /** Open units (of unsettled reservations) stay open, except units that `from` no longer counts as open because of their age. */
  override carry(s: Numbers, i: number, at: number, from: Algorithm): void {
    const [open, before] = from instanceof SpentPenalty ? from.#openUnits(s, i, at + this.aheadAt(s, i, at)) : [0, 0]
    super.carry(s, i, at, from)
    s[i + 2] = open
    s[i + 5] = before
  }

  /**
   * The open units (of unsettled reservations) of the present generation, and of the generation before. A generation is a span of `within`.
   */
  #openUnits(s: Numbers, i: number, now: number): [present: number, before: number] {
    const start = s[i + 1] as number
    const present = now < start + 2 * this.within ? (s[i + 2] as number) : 0
    return [present, now < start + this.within ? (s[i + 5] as number) : 0]
  }

  /**
   * Merges two states. A merged state must be at least as strict as both states. So the result has no open units (units of unsettled
   * reservations): a ban then begins as early as possible.
   */
  override merge(s: Numbers, i: number, at: number, t: Numbers, j: number): void {
    super.merge(s, i, at, t, j)
    s[i + 2] = 0
    s[i + 5] = 0
  }

  override describe(s: readonly number[], { now, retry, used }: Facts): Description {
    const [, , , bans = 0, end = 0] = s
    const remembered = end + this.forget - now
    const before = bans > 0 && remembered > 0 ? `; the last ban is remembered for ${timeText(remembered)} more` : ''
    const words =
      retry > 0
        ? `Banned for ${timeText(retry)} more, because its quota was spent (ban ${bans})`
        : `Not banned: a ban begins when the quota is spent${before}`
    return { words, numbers: { open: used, bans, bannedUntil: toMilliseconds(end) } }
  }
}
