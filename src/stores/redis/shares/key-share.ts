import type { CallBan } from '../../../algorithms/bans/index.ts'
import type { Policy } from '../../../algorithms/index.ts'
import type { Ban, Decision, Verdict } from '../../../policy/index.ts'
import { Demand } from './demand.ts'

/** What the share of a key needs to know of its limiter. */
export interface ShareTerms {
  readonly policies: readonly Policy[]
  /** How far back demand counts, in microseconds. */
  readonly demandWindow: number
  /** Returns a number from 0 to 1, with which parts of a unit are rounded at random. */
  readonly random: () => number
}

/** What a report says. A report that is sent again stays the same, because the store may have counted it. */
interface Report {
  readonly number: number
  /** Units admitted since the last report, for each policy. */
  readonly admitted: readonly number[]
  /** Units wanted since the last report. */
  readonly wanted: number
}

/** A report that is under way. */
export interface Sent extends Report {
  /** This process's demand when the report was sent. */
  readonly own: number
  /** How often this process had changed the ban of the key when the report was sent. */
  readonly changes: number
}

/**
 * What one process may admit of one key until its next report.
 *
 * The last answer of the store said how many units remain. This process may admit its part of these units: as large as its part
 * of the demand. While other processes report too, it takes a little less, because the units that they admitted since their last
 * reports do not show yet.
 */
export class KeyShare {
  readonly #terms: ShareTerms
  readonly #demand: Demand
  /** Units that may be admitted until the next report, for each policy, without units that come back in the meantime. */
  readonly #credit: number[]
  /** Units admitted since the last report, for each policy. */
  readonly #admitted: number[]
  #wanted = 0
  /** The most units that a report says were wanted: a number above the limit adds nothing. */
  readonly #most: number
  /** The last report, while it is not answered. */
  #unanswered: Report | undefined
  /** The verdicts of the last answer; undefined before the first answer. */
  #verdicts: readonly Verdict[] | undefined
  #answeredAt = 0
  /**
   * This process's part of the remaining units, from 0 to 1: its part of the demand, above an equal part only after two answers
   * that say so. Otherwise the first process to report would take itself for the only one, and so would the next one.
   */
  #part = 0
  /** This process's part of the demand by the last answer; 0 after an idle time. */
  #before = 0
  /** When a call last asked for the key. */
  usedAt = 0
  /** True while a report is under way. */
  reporting = false
  /** True if the store has no readable record of this key. */
  broken = false
  /** The ban of the key, as far as this process knows. Its times are by the local clock. */
  #ban: CallBan | undefined
  /** How often this process has changed the ban. The answer to a report from before a change is older than the ban here. */
  #banChanges = 0

  /** @param processes how many processes share the key, as far as this process knows */
  constructor(terms: ShareTerms, processes: number) {
    this.#terms = terms
    this.#demand = new Demand(terms.demandWindow)
    this.#most = Math.max(...terms.policies.map(({ burst }) => burst))
    this.#credit = terms.policies.map(({ burst, limit }) => {
      return limit === 0 ? 0 : Math.max(1, Math.floor(burst / processes))
    })
    this.#admitted = terms.policies.map(() => 0)
  }

  setBan(ban: CallBan | undefined): void {
    this.#ban = ban
    this.#banChanges++
  }

  banAt(now: number): CallBan | undefined {
    const ban = this.#ban
    if (ban === undefined || ban.until <= now) return undefined
    return { ...ban, wait: ban.until - now }
  }

  admits(n: number, cost: number, now: number): boolean {
    return cost === 0 || cost <= this.#available(n, now)
  }

  /** Units that may be admitted now. A bucket gives units back all the time: this process has its part of these units too. */
  #available(n: number, now: number): number {
    const { algorithm, burst, limit, window } = this.#terms.policies[n] as Policy
    const credit = this.#credit[n] as number
    const last = this.#verdicts?.[n]
    if (last === undefined || algorithm.kind !== 'bucket') return Math.floor(credit)
    const debt = Math.max(0, last.used - burst)
    const back = Math.min(burst - last.remaining, (limit * (now - this.#answeredAt)) / (window * 1000) - debt)
    return Math.floor(credit + this.#part * Math.max(0, back))
  }

  /**
   * Call it before each call. After an idle time, what this process knew of other processes is out of date: from then on
   * each process has an equal part.
   */
  refresh(now: number, processes: number): void {
    if (this.#verdicts === undefined || !this.isIdle(now)) return
    this.#part = Math.min(this.#part, 1 / processes)
    this.#before = 0
    for (const [n, { remaining }] of this.#verdicts.slice(0, -1).entries()) {
      const equal = remaining === 0 ? 0 : Math.max(1, Math.floor(remaining / processes))
      this.#credit[n] = Math.min(this.#credit[n] as number, equal)
    }
  }

  /** True if no call has come for as long as demand counts. */
  isIdle(now: number): boolean {
    return now - this.usedAt > this.#terms.demandWindow
  }

  /** True if no call comes, and the key has its full quota in the store, as far as this process knows. */
  isForgettable(now: number): boolean {
    if (this.#unanswered !== undefined || this.broken || !this.isIdle(now)) return false
    const reset = Math.max(0, ...(this.#verdicts ?? []).map(({ resetAfter }) => resetAfter))
    return now - this.#answeredAt >= reset * 1000
  }

  /** Notes a call. Only an admitted call takes units. */
  count(costs: readonly number[], admitted: boolean, now: number): void {
    const wanted = Math.min(Math.max(...costs), this.#most - this.#wanted)
    this.#wanted += wanted
    this.#demand.add(wanted, now)
    this.usedAt = now
    if (!admitted) return
    for (const [n, cost] of costs.entries()) {
      this.#credit[n] = (this.#credit[n] as number) - cost
      this.#admitted[n] = (this.#admitted[n] as number) + cost
    }
  }

  /** @param untilReport microseconds to this process's next report, which may admit more */
  verdict(n: number, allowed: boolean, cost: number, now: number, untilReport: number): Verdict {
    const { name, limit, burst, window, shadow } = this.#terms.policies[n] as Policy
    const last = this.#verdicts?.[n]
    const elapsed = Math.floor(Math.max(0, now - this.#answeredAt) / 1000)
    const own = this.#unreported(n)
    const reset = own > 0 ? Math.ceil((window * Math.min(own, limit)) / Math.max(1, limit)) : 0
    const growsIn = Math.max((last?.nextAfter ?? 0) - elapsed, Math.ceil(untilReport / 1000), 1)
    return {
      name,
      allowed,
      limit,
      remaining: Math.max(0, this.#available(n, now)),
      used: (last?.used ?? 0) + own,
      retryAfter: allowed ? 0 : cost > burst || limit === 0 ? Infinity : growsIn,
      resetAfter: Math.max((last?.resetAfter ?? 0) - elapsed, reset),
      shadow,
    }
  }

  /** Admitted units that the store has not counted yet, under the policy that has most. */
  get unreported(): number {
    return Math.max(0, ...this.#admitted.map((_, n) => this.#unreported(n)))
  }

  #unreported(n: number): number {
    return (this.#admitted[n] as number) + (this.#unanswered?.admitted[n] ?? 0)
  }

  /** True if there is something to report. */
  get isDue(): boolean {
    return (this.#wanted > 0 || this.#unanswered !== undefined) && !this.reporting && !this.broken
  }

  /**
   * What has to be reported: the last report again if it was not answered. What came since then waits for the next report.
   * @param number the number of a new report
   */
  send(now: number, number: number): Sent {
    if (this.#unanswered === undefined) {
      this.#unanswered = { number, admitted: [...this.#admitted], wanted: this.#wanted }
      this.#admitted.fill(0)
      this.#wanted = 0
    }
    this.reporting = true
    return { ...this.#unanswered, own: this.#demand.at(now), changes: this.#banChanges }
  }

  /**
   * @param decision the answer; its last verdict is that of the demand policy, whose `used` is what all processes wanted
   * @param count how many processes there are
   * @param peers how many processes report as often as this one: the demand policy counts only these
   */
  answered(
    { policies: verdicts, ban, at }: Decision,
    { own, changes }: Sent,
    now: number,
    { count, peers }: { readonly count: number; readonly peers: number },
  ): void {
    this.reporting = false
    this.#unanswered = undefined
    if (changes === this.#banChanges) this.#ban = ban && localBan(ban, at as number, now)
    this.#verdicts = verdicts
    this.#answeredAt = now
    const all = (verdicts.at(-1) as Verdict).used
    const equal = 1 / count
    // After an outage, this process may have had no demand for a while.
    const wanted = own === 0 ? equal : ((all > 0 ? Math.min(1, own / all) : 1) * peers) / count
    this.#part = Math.min(wanted, Math.max(equal, this.#before))
    this.#before = wanted
    const caution = wanted === 1 ? 1 : (1 + 1 / count) / 2
    for (const [n, since] of this.#admitted.entries()) {
      const { remaining } = verdicts[n] as Verdict
      this.#credit[n] = this.#part * caution * remaining + this.#terms.random() - since
    }
  }

  /** Makes the report due again, because nobody knows whether it arrived. */
  failed(): void {
    this.reporting = false
  }
}

/** @param at the store's time in milliseconds at the local time `now` */
function localBan({ until, scope, reason }: Ban, at: number, now: number): CallBan {
  const wait = 1000 * (until - at)
  return { scope, wait, until: now + wait, reason }
}
