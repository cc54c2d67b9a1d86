import { callBan, forever, isBannable } from '../../../algorithms/bans/index.ts'
import type { Costs, DecidingVerb, Tickets } from '../../../algorithms/evaluation/index.ts'
import { type Policy, partOf, type Threshold } from '../../../algorithms/index.ts'
import type { RefusedCost } from '../../../policy/index.ts'
import { tooMany } from '../../contract/index.ts'
import type { PackedPlan } from '../script/index.ts'
import type { ScriptRequest } from './script-request.ts'
import type { PolicyReport, ResponseBan, ScriptResponse } from './script-response.ts'

const none: readonly number[] = []
const nothing = { delay: 0, reports: [], tickets: undefined, lease: undefined, ban: undefined }

/** Reads the reply to one batch, a flat list of numbers, in the order of the requests. */
export class ReplyReader {
  readonly #reply: readonly unknown[]
  #at = 0
  /** The time of Redis in microseconds, or -1 if no request needed this time. */
  readonly #now: number

  constructor(reply: readonly unknown[]) {
    this.#reply = reply
    this.#now = this.#next()
  }

  /**
   * The next number of the reply. In the reply, the number may be a text, because some clients are configured to return integers as
   * texts.
   */
  #next(): number {
    return Number(this.#reply[this.#at++])
  }

  /** Reads the response to a request; undefined if headgate cannot read the value of one of the request's keys. */
  read(request: ScriptRequest): ScriptResponse | undefined {
    const { plan, verb, now: requestTime, details, cacheable, lease } = request
    const now = requestTime < 0 ? this.#now : requestTime
    const first = this.#next()
    if (first === 5) return undefined
    if (first === 7) return this.#elsewhere()
    const ban = first === 6 ? this.#ban(request, now) : undefined
    const outcome = ban === undefined ? first : this.#next()
    const allowed = outcome === 1 || outcome === 2
    const repeats = outcome === 0
    if (verb === 'reset' || verb === 'ban' || verb === 'unban') return { now, allowed, repeats, ...nothing }
    const delay = verb === 'reserve' && !ban?.refuses ? this.#next() : 0
    const list = request.alternatives && { alternatives: request.alternatives, tried: this.#tried(plan) }
    const hasNext = details?.nextAfter === true || (cacheable === true && !allowed)
    const reports: PolicyReport[] = []
    for (let n = 0; n < plan.policies.length; n++) {
      const { burst } = plan.policies[n] as Policy
      const wait = outcome === 2 ? 0 : this.#next()
      const left = this.#next()
      const remaining = left < 0 ? -left - 1 : left
      const used = left < 0 ? this.#next() : burst - remaining
      const reset = this.#next()
      const reached = this.#reached(plan.thresholds[n] as readonly Threshold[], used)
      reports.push({ wait, remaining, used, reset, reached, next: hasNext ? this.#next() : undefined })
    }
    const tickets =
      allowed && (verb === 'reserve' || verb === 'renew')
        ? this.#tickets(request, list?.alternatives[list.tried.length] ?? request.costs)
        : undefined
    return {
      now,
      allowed,
      repeats,
      delay,
      reports,
      tickets,
      list,
      lease: lease === undefined ? undefined : this.#lease(plan, reports),
      ban,
    }
  }

  /**
   * Reads why nothing was decided. The reply has the time of Redis if the request's windows do not contain that time, or -1 if the key has
   * too many reservations that expire.
   */
  #elsewhere(): ScriptResponse {
    const time = this.#next()
    return { now: time, allowed: false, elsewhere: time < 0 ? tooMany : time, repeats: false, ...nothing }
  }

  /** Reads a ban: when it ends (-1: never), the index of the scope (kind) of the banned key, and the reason, which may be empty. */
  #ban({ plan, verb }: ScriptRequest, now: number): ResponseBan {
    const end = this.#next()
    const until = end < 0 ? forever : end
    const scope = plan.scopes[this.#next() - 1] as string
    const reason = String(this.#reply[this.#at++]) || undefined
    return { ...callBan(scope, { from: now, until, reason }, now), refuses: isBannable(verb as DecidingVerb) }
  }

  /** Reads which costs of a list were refused: how many, and then for each cost the index of the refusing policy and the wait. */
  #tried({ policies }: PackedPlan): readonly RefusedCost[] {
    return Array.from({ length: this.#next() }, () => {
      const { name } = policies[this.#next() - 1] as Policy
      const wait = this.#next()
      return { policy: name, retryAfter: wait < 0 ? Infinity : Math.ceil(wait / 1000) }
    })
  }

  /**
   * Reads the tickets of a reservation, for its settlement. In a renewal, a policy without leases gets no new ticket, because its earlier
   * ticket stays valid.
   */
  #tickets({ plan, tickets }: ScriptRequest, costs: Costs): Tickets {
    return plan.policies.map((_, n) => {
      const form = this.#next()
      if (form === 0) return tickets?.[n]
      const ticket = [this.#next(), this.#next(), typeof costs === 'number' ? costs : (costs[n] as number)] as const
      return form === 1 ? ticket : [...ticket, this.#next()]
    })
  }

  /** Reads a lease, and adds the thresholds that its units have reached to the reports. */
  #lease({ thresholds }: PackedPlan, reports: PolicyReport[]): ScriptResponse['lease'] {
    const units = this.#next()
    if (units === 0) return undefined
    for (const [n, report] of reports.entries()) {
      const more = this.#reached(thresholds[n] as readonly Threshold[], report.used + units)
      if (more.length > 0) reports[n] = { ...report, reached: [...report.reached, ...more] }
    }
    return { units, life: this.#next() }
  }

  /** Reads which thresholds this response reports. The reply has only their count: they are the highest thresholds that `used` reaches. */
  #reached(thresholds: readonly Threshold[], used: number): readonly number[] {
    if (thresholds.length === 0) return none
    const count = this.#next()
    if (count === 0) return none
    return thresholds
      .filter(({ units }) => units <= used)
      .slice(-count)
      .map(partOf)
  }
}
