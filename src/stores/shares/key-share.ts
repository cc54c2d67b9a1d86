import type { Policy } from '../../algorithms/index.ts'
import type { Decision, Verdict } from '../../policy/index.ts'

/** What a report says. A report that is sent again stays the same, because the store may have counted it. */
export interface Report {
  readonly number: number
  /** Units admitted since the last report, for each policy. */
  readonly admitted: readonly number[]
}

/** What the store refused last under a policy. */
interface Refusal {
  readonly cost: number
  readonly verdict: Verdict
  readonly at: number
}

/** A question to the store that is under way. */
export interface Sent {
  /** Undefined if this process has admitted nothing, and only asks what remains. */
  readonly report: Report | undefined
  /** How often this process had banned the key when it asked. */
  readonly bans: number
}

/**
 * What one process may admit of one key without asking: an equal part of what remained by the last answer, less what it has
 * admitted since. Of what comes back to a bucket meanwhile, it has an equal part too. The bound is proved in `share-store.ts`.
 */
export class KeyShare {
  readonly #policies: readonly Policy[]
  readonly #instances: number
  /** Units admitted since the last report, for each policy. */
  readonly #admitted: number[]
  /** The last report, while it is not answered. */
  #unanswered: Report | undefined
  /** True if a call since the last report was more than the share. */
  #exceeded = false
  /** The verdicts of the last answer; undefined before the first answer. */
  #verdicts: readonly Verdict[] | undefined
  #answeredAt = 0
  /** The store's refusals since the last question, for each policy. */
  readonly #refusals: (Refusal | undefined)[]
  /** True while a question is under way. */
  asking = false
  /** True if the store has no readable record of this key. */
  broken = false
  /** Until when the key is banned, as far as this process knows, by the local clock. */
  #bannedUntil = 0
  /** How often this process has banned the key. The answer to a question from before a ban does not show that ban. */
  #bans = 0

  /** @param instances how many processes share the limits */
  constructor(policies: readonly Policy[], instances: number) {
    this.#policies = policies
    this.#instances = instances
    this.#admitted = policies.map(() => 0)
    this.#refusals = policies.map(() => undefined)
  }

  /** @param until in microseconds of the local clock */
  ban(until: number): void {
    this.#bannedUntil = until
    this.#bans++
  }

  isBanned(now: number): boolean {
    return this.#bannedUntil > now
  }

  admits(n: number, cost: number, now: number): boolean {
    const share = Math.floor(this.#remaining(n, now) / this.#instances)
    return cost === 0 || cost <= share - this.#unreported(n)
  }

  /** Units that remain in the store if no other process has reported since the last answer. */
  #remaining(n: number, now: number): number {
    const { burst, limit } = this.#policies[n] as Policy
    const last = this.#verdicts?.[n]
    if (last === undefined) return limit === 0 ? 0 : burst
    const debt = Math.max(0, last.used - burst)
    return Math.min(burst, last.remaining + Math.max(0, this.#back(n, now) - debt))
  }

  /** Units that a bucket has given back since the last answer. Windows and logs give units back all at once: the store tells when. */
  #back(n: number, now: number): number {
    const { algorithm, limit, window } = this.#policies[n] as Policy
    return algorithm.kind === 'bucket' ? (limit * (now - this.#answeredAt)) / (window * 1000) : 0
  }

  /** True if the key has its full quota in the store, as far as this process knows, and nothing has to be sent. */
  isForgettable(now: number): boolean {
    if (this.isDue || this.asking || this.broken || this.isBanned(now)) return false
    const reset = Math.max(0, ...(this.#verdicts ?? []).map(({ resetAfter }) => resetAfter))
    return now - this.#answeredAt >= reset * 1000
  }

  count(n: number, cost: number): void {
    this.#admitted[n] = (this.#admitted[n] as number) + cost
  }

  /** Notes a call that is more than the share: the next answer may give more. */
  exceed(): void {
    this.#exceeded = true
  }

  /** The verdict of a call that was admitted and counted, as far as this process knows. */
  verdict(n: number, now: number, withNextAfter: boolean | undefined): Verdict {
    const { name, limit, window, shadow, algorithm } = this.#policies[n] as Policy
    const last = this.#verdicts?.[n]
    const own = this.#unreported(n)
    const elapsed = Math.floor((now - this.#answeredAt) / 1000)
    const rest = Math.max(0, (last?.resetAfter ?? 0) - elapsed)
    const bucket = algorithm.kind === 'bucket'
    const paid = own === 0 ? 0 : Math.ceil(bucket ? (window * own) / limit : algorithm.span / 1000)
    const resetAfter = bucket ? rest + paid : Math.max(rest, paid)
    const verdict: Verdict = {
      name,
      allowed: true,
      limit,
      remaining: Math.max(0, Math.floor(this.#remaining(n, now)) - own),
      used: Math.ceil(Math.max(0, (last?.used ?? 0) - this.#back(n, now))) + own,
      retryAfter: 0,
      resetAfter,
      shadow,
    }
    if (!withNextAfter) return verdict
    const next = bucket ? Math.ceil(window / limit) : (last?.nextAfter ?? 0) - elapsed
    return { ...verdict, nextAfter: next > 0 ? Math.min(next, resetAfter) : resetAfter }
  }

  /**
   * Learns from a call that the store decided. Only what lowers the share is taken over, because a report that is under way is
   * not in these numbers.
   */
  learn(verdicts: readonly Verdict[], now: number): void {
    if (verdicts.some(({ remaining }, n) => remaining > this.#remaining(n, now))) return
    this.#verdicts = verdicts
    this.#answeredAt = now
  }

  /** Notes that the store refused this cost. Until the next question, such a cost is refused here. */
  refused(n: number, cost: number, verdict: Verdict, at: number): void {
    this.#refusals[n] = { cost, verdict, at }
  }

  /** Call it when units of the key may have come back: the next call asks the store. */
  forgetRefusals(): void {
    this.#refusals.fill(undefined)
  }

  /** The verdict of a cost that the store refused lately. @param untilReport milliseconds until the store is asked again */
  refusal(n: number, cost: number, now: number, untilReport: number): Verdict | undefined {
    const refusal = this.#refusals[n]
    if (refusal === undefined || cost < refusal.cost) return undefined
    const { verdict, at } = refusal
    const elapsed = Math.floor((now - at) / 1000)
    const never = cost > (this.#policies[n] as Policy).burst
    const retryAfter = never ? Infinity : Math.max(1, verdict.retryAfter - elapsed, untilReport)
    return { ...verdict, retryAfter, resetAfter: Math.max(1, verdict.resetAfter - elapsed) }
  }

  /** Admitted units that the store has not counted, as far as this process knows, under the policy that has most. */
  get unreported(): number {
    return Math.max(0, ...this.#admitted.map((_, n) => this.#unreported(n)))
  }

  #unreported(n: number): number {
    return (this.#admitted[n] as number) + (this.#unanswered?.admitted[n] ?? 0)
  }

  /** True if there is something to report or to ask. */
  get isDue(): boolean {
    return !this.asking && !this.broken && (this.#exceeded || this.unreported > 0)
  }

  /**
   * What has to be sent: the last report again if it was not answered. What was admitted since then waits for the next report.
   * @param number the number of a new report
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
    if (bans === this.#bans) this.#bannedUntil = ban === undefined ? 0 : now + 1000 * (ban.until - (at as number))
    this.#verdicts = verdicts
    this.#answeredAt = now
  }

  /** Asks again, because nobody knows whether the store has counted the report. */
  failed(): void {
    this.asking = false
    this.#exceeded = true
  }
}
