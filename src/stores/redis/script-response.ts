import type { Policy } from '../../algorithms/algorithm.ts'
import type { Details, Tickets } from '../../algorithms/evaluation.ts'
import { type Decision, join, type Verdict } from '../../decision.ts'
import type { ScriptRequest } from './script-request.ts'

/** What the script reports of one policy, in whole microseconds. A wait of -1 means never. */
export interface PolicyReport {
  readonly wait: number
  readonly remaining: number
  readonly reset: number
  /** The time until `remaining` grows; undefined if the request did not want it. */
  readonly next: number | undefined
}

/** The script's response to one request. */
export interface ScriptResponse {
  /** The time of the decision, in microseconds since the epoch. */
  readonly now: number
  readonly allowed: boolean
  /** True if the same request is refused again until a unit comes back. */
  readonly repeats: boolean
  /** How long a granted reservation has to wait, in microseconds. */
  readonly delay: number
  /** One for each policy of the plan, in its order. */
  readonly reports: readonly PolicyReport[]
  readonly tickets: Tickets | undefined
  /** Units that were taken in addition to the cost, and how many microseconds all of them stay taken. */
  readonly lease: { readonly units: number; readonly life: number } | undefined
}

/** Reads the flat reply to one batch, request by request in their order. */
export class ReplyReader {
  readonly #reply: readonly unknown[]
  #at = 0
  /** The time of Redis, or -1 if no request needed it. */
  readonly #now: number

  constructor(reply: readonly unknown[]) {
    this.#reply = reply
    this.#now = this.#next()
  }

  /** Converts integers that the client was configured to return as text. */
  #next(): number {
    return Number(this.#reply[this.#at++])
  }

  read({ plan, verb, now: requestTime, extras }: ScriptRequest): ScriptResponse {
    const { details, cacheable, lease } = extras
    const now = requestTime < 0 ? this.#now : requestTime
    const outcome = this.#next()
    const allowed = outcome === 1 || outcome === 2
    const repeats = outcome === 0
    if (verb === 'reset') return { now, allowed, repeats, delay: 0, reports: [], tickets: undefined, lease: undefined }
    const delay = verb === 'reserve' ? this.#next() : 0
    const hasNext = details?.nextAfter === true || (cacheable === true && !allowed)
    const reports: PolicyReport[] = []
    for (let n = plan.policies.length; n > 0; n--) {
      reports.push({
        wait: outcome === 2 ? 0 : this.#next(),
        remaining: this.#next(),
        reset: this.#next(),
        next: hasNext ? this.#next() : undefined,
      })
    }
    const tickets = verb === 'reserve' && allowed ? this.#tickets(reports.length) : undefined
    return { now, allowed, repeats, delay, reports, tickets, lease: lease === undefined ? undefined : this.#lease() }
  }

  #tickets(count: number): Tickets {
    return Array.from({ length: count }, () => {
      return this.#next() === 1 ? ([this.#next(), this.#next(), this.#next()] as const) : undefined
    })
  }

  #lease(): ScriptResponse['lease'] {
    const units = this.#next()
    return units === 0 ? undefined : { units, life: this.#next() }
  }
}

/**
 * Makes the caller's decision from a response.
 * @param elapsed microseconds since the response, if it is repeated: its times are shorter by that
 */
export function decisionOf(
  policies: readonly Policy[],
  response: ScriptResponse,
  details?: Details,
  elapsed = 0,
): Decision {
  const { now, allowed, reports } = response
  const next = details?.nextAfter === true
  const verdicts =
    reports.length === 1
      ? [verdictOf(policies[0] as Policy, reports[0] as PolicyReport, next, elapsed)]
      : reports.map((report, n) => verdictOf(policies[n] as Policy, report, next, elapsed))
  return join(allowed, verdicts, 'store', details?.at ? Math.floor((now + elapsed) / 1000) : undefined)
}

function verdictOf({ name, limit, shadow }: Policy, report: PolicyReport, next: boolean, elapsed: number): Verdict {
  const { wait, remaining } = report
  const allowed = wait === 0
  const retryAfter = wait < 0 ? Infinity : milliseconds(wait, elapsed)
  const resetAfter = milliseconds(report.reset, elapsed)
  if (!next) return { name, allowed, limit, remaining, retryAfter, resetAfter, shadow }
  const nextAfter = milliseconds(report.next as number, elapsed)
  return { name, allowed, limit, remaining, retryAfter, resetAfter, shadow, nextAfter }
}

function milliseconds(microseconds: number, elapsed: number): number {
  return microseconds <= elapsed ? 0 : Math.ceil((microseconds - elapsed) / 1000)
}
