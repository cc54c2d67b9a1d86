import type { Policy } from '../../algorithms/index.ts'
import { type Decision, type Verdict, withResetAt } from '../../policy/index.ts'
import { type Command, windowsOf } from '../contract/index.ts'

/** A report of admitted units to the store. If the report is sent again, it is unchanged, because the store may have counted it. */
export interface Report {
  readonly number: number
  /** For each policy, the units that were admitted since the previous report. */
  readonly admitted: readonly number[]
}

/** The last refusal by the store under a policy. */
interface Refusal {
  readonly cost: number
  readonly verdict: Verdict
  readonly at: number
}

/** A question of this process to the store (a report, or a `peek` if there is nothing to report) that has no answer yet. */
export interface Sent {
  /** The report; undefined if this process has no units to report. */
  readonly report: Report | undefined
  /** How often this process had banned the key when it sent the question. */
  readonly bans: number
}

/**
 * The units of a key that a process may admit without asking the store: an equal part of the units that remained by the store's last
 * answer. The units that the process has admitted since then are subtracted. When a bucket frees units, each process gets an equal part of
 * them. `share-store.ts` proves how many units are admitted at most.
 */
export class KeyShare {
  readonly #policies: readonly Policy[]
  readonly #instances: number
  /** For each policy, the units that were admitted since the last report. */
  readonly #admitted: number[]
  /** The last report, if the store has not answered it yet. */
  #unanswered: Report | undefined
  /** True if a call since the last report needed more units than the share (what this process may admit by itself). */
  #exceeded = false
  /** The verdicts in the store's last answer; undefined before the first answer. */
  #verdicts: readonly Verdict[] | undefined
  #answeredAt = 0
  /** For each policy, the last refusal by the store since the last question. */
  readonly #refusals: (Refusal | undefined)[]
  /** The calendar of the customer in the last call of the key. */
  calendar: Command['calendar']
  /** The windows in the last call of the key, for policies with a calendar. */
  windows: Command['windows']
  /** True while a question to the store has no answer. */
  asking = false
  /** True if the value that the store has for this key cannot be read. */
  broken = false
  /** When the ban of the key ends, by the local clock in microseconds, as far as this process knows. */
  bannedUntil = 0
  /** How often this process has banned the key. The answer to a question that was sent before a ban does not contain the ban. */
  #bans = 0

  /** @param instances how many processes share the limits */
  constructor(policies: readonly Policy[], instances: number) {
    this.#policies = policies
    this.#instances = instances
    this.#admitted = policies.map(() => 0)
    this.#refusals = policies.map(() => undefined)
  }

  /** Notes that the key is banned. @param until when the ban ends, in microseconds of the local clock */
  ban(until: number): void {
    this.bannedUntil = until
    this.#bans++
  }

  isBanned(now: number): boolean {
    return this.bannedUntil > now
  }

  admits(n: number, cost: number, now: number): boolean {
    const share = Math.floor(this.#remaining(n, now) / this.#instances)
    return cost === 0 || cost <= share - this.#unreported(n)
  }

  /** How many units remain in the store, if no other process has reported since the last answer. */
  #remaining(n: number, now: number): number {
    const { burst, limit } = this.#policies[n] as Policy
    const last = this.#verdicts?.[n]
    if (last === undefined) return limit === 0 ? 0 : burst
    const debt = Math.max(0, last.used - burst)
    return Math.min(burst, last.remaining + Math.max(0, this.#back(n, now) - debt))
  }

  /**
   * The units that a bucket has freed since the store's last answer. 0 for windows and logs: only the store knows when
   * their units become free.
   */
  #back(n: number, now: number): number {
    const { algorithm, limit, window } = this.#policies[n] as Policy
    return algorithm.kind === 'bucket' ? (limit * (now - this.#answeredAt)) / (window * 1000) : 0
  }

  /** True if, as far as this process knows, the key has its full quota in the store and there is nothing to report. */
  isForgettable(now: number): boolean {
    if (this.isDue || this.asking || this.broken || this.isBanned(now)) return false
    const reset = Math.max(0, ...(this.#verdicts ?? []).map(({ resetAfter }) => resetAfter))
    return now - this.#answeredAt >= reset * 1000
  }

  count(n: number, cost: number): void {
    this.#admitted[n] = (this.#admitted[n] as number) + cost
  }

  /** Gives back units that were not reported yet. Returns how many of the units were reported: the store has to give these back. */
  giveBack(n: number, units: number): number {
    const back = Math.min(units, this.#admitted[n] as number)
    this.count(n, -back)
    return units - back
  }

  /**
   * Notes a call that needs more units than this process may admit, so that the store decides the call. The store's answer may make the
   * share larger.
   */
  exceed(): void {
    this.#exceeded = true
  }

  /**
   * The verdict of a call that this process admitted and counted. Units that other processes have not reported yet are not counted
   * in the verdict.
   */
  verdict(n: number, now: number, withNextAfter: boolean | undefined): Verdict {
    const { name, limit, window, shadow, algorithm } = this.#policies[n] as Policy
    const last = this.#verdicts?.[n]
    const own = this.#unreported(n)
    const elapsed = Math.floor((now - this.#answeredAt) / 1000)
    const rest = Math.max(0, (last?.resetAfter ?? 0) - elapsed)
    const bucket = algorithm.kind === 'bucket'
    const used = Math.ceil(Math.max(0, (last?.used ?? 0) - this.#back(n, now))) + own
    const paid = own === 0 ? 0 : Math.ceil(bucket ? (window * own) / limit : algorithm.span / 1000)
    const end = this.#endOf(n, now)
    const untilEnd = end === undefined ? Math.max(rest, paid) : used > 0 ? Math.ceil((end - now) / 1000) : 0
    const resetAfter = bucket ? rest + paid : untilEnd
    const verdict: Verdict = {
      name,
      allowed: true,
      limit,
      remaining: Math.max(0, Math.floor(this.#remaining(n, now)) - own),
      used,
      retryAfter: 0,
      resetAfter,
      shadow,
    }
    if (end !== undefined) return withResetAt(withNextAfter ? { ...verdict, nextAfter: resetAfter } : verdict, now)
    if (!withNextAfter) return verdict
    const next = bucket ? Math.ceil(window / limit) : (last?.nextAfter ?? 0) - elapsed
    return { ...verdict, nextAfter: next > 0 ? Math.min(next, resetAfter) : resetAfter }
  }

  /** When the window of a policy with a calendar ends, in microseconds. Undefined for another policy. */
  #endOf(n: number, now: number): number | undefined {
    const stored = (this.#verdicts?.[n]?.resetAt ?? 0) * 1000
    if (stored > now) return stored
    return windowsOf(this.#policies[n] as Policy, now, this.calendar)?.find((time) => time > now)
  }

  /**
   * Replaces the verdicts of this share by the verdicts of a call that the store decided. Nothing changes if these would make the share
   * (units that this process may admit) larger, because they do not count the units of a report that is under way.
   */
  learn(verdicts: readonly Verdict[], now: number): void {
    if (verdicts.some(({ remaining }, n) => remaining > this.#remaining(n, now))) return
    this.#verdicts = verdicts
    this.#answeredAt = now
  }

  /**
   * Notes that the store refused this cost. Until the next question to the store, this process refuses the same cost itself, and
   * under a bucket also larger costs.
   */
  refused(n: number, cost: number, verdict: Verdict, at: number): void {
    this.#refusals[n] = { cost, verdict, at }
  }

  /**
   * Forgets the refusals by the store, so that the next call asks the store. Call this method when units of the key may have become
   * free.
   */
  forgetRefusals(): void {
    this.#refusals.fill(undefined)
  }

  /**
   * The verdict for a cost, computed from the store's last refusal; undefined if that refusal says nothing about this cost. In a
   * bucket, each further unit takes the same time, so the wait of a larger cost is known. Under other policies, only the store
   * knows that wait.
   * @param untilReport milliseconds until the store is asked again
   */
  refusal(n: number, cost: number, now: number, untilReport: number): Verdict | undefined {
    const refusal = this.#refusals[n]
    if (refusal === undefined || cost < refusal.cost) return undefined
    const { verdict, at } = refusal
    const { algorithm, burst, limit, window } = this.#policies[n] as Policy
    const never = cost > burst
    if (cost > refusal.cost && !never && algorithm.kind !== 'bucket') return undefined
    const elapsed = Math.floor((now - at) / 1000)
    const more = Math.ceil(((cost - refusal.cost) * window) / limit)
    const retryAfter = never ? Infinity : Math.max(1, verdict.retryAfter - elapsed + more, untilReport)
    return { ...verdict, retryAfter, resetAfter: Math.max(1, verdict.resetAfter - elapsed) }
  }

  /** How many admitted units the store has not counted, as far as this process knows, under the policy with the most such units. */
  get unreported(): number {
    return Math.max(0, ...this.#admitted.map((_, n) => this.#unreported(n)))
  }

  #unreported(n: number): number {
    return (this.#admitted[n] as number) + (this.#unanswered?.admitted[n] ?? 0)
  }

  /** True if the store has to be asked now: there are units to report, or a call needed more than this process may admit by itself. */
  get isDue(): boolean {
    return !this.asking && !this.broken && (this.#exceeded || this.unreported > 0)
  }

  /**
   * Returns the report to send. If the store has not answered the last report, returns the last report again: units that were admitted
   * since then wait for the next report.
   * @param number the number of a new report, by which the store notices a report that arrives twice
   */
  ask(number: number): Sent {
    if (this.#unanswered === undefined && this.unreported > 0) {
      this.#unanswered = { number, admitted: [...this.#admitted] }
      this.#admitted.fill(0)
    }
    this.#exceeded = false
    this.forgetRefusals()
    this.asking = true
    return { report: this.#unanswered, bans: this.#bans }
  }

  answered({ policies: verdicts, ban, at }: Decision, { bans }: Sent, now: number): void {
    this.asking = false
    this.#unanswered = undefined
    if (bans === this.#bans) this.bannedUntil = ban === undefined ? 0 : now + 1000 * (ban.until - (at as number))
    this.#verdicts = verdicts
    this.#answeredAt = now
  }

  /** Prepares to send the last report again, because maybe the store has not counted that report. */
  failed(): void {
    this.asking = false
    this.#exceeded = true
  }
}
