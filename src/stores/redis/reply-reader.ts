import type { Tickets } from '../../algorithms/evaluation.ts'
import type { ScriptRequest } from './script-request.ts'
import type { PolicyReport, ScriptResponse } from './script-response.ts'

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

  /** Undefined if the value of one of the request's keys is broken. */
  read(request: ScriptRequest): ScriptResponse | undefined {
    const { plan, verb, now: requestTime, extras } = request
    const { details, cacheable, lease } = extras
    const now = requestTime < 0 ? this.#now : requestTime
    const outcome = this.#next()
    if (outcome === 5) return undefined
    const allowed = outcome === 1 || outcome === 2
    const repeats = outcome === 0
    if (verb === 'reset') return { now, allowed, repeats, delay: 0, reports: [], tickets: undefined, lease: undefined }
    const delay = verb === 'reserve' ? this.#next() : 0
    const hasNext = details?.nextAfter === true || (cacheable === true && !allowed)
    const reports: PolicyReport[] = []
    for (const { burst } of plan.policies) {
      const wait = outcome === 2 ? 0 : this.#next()
      const first = this.#next()
      const remaining = first < 0 ? -first - 1 : first
      const used = first < 0 ? this.#next() : burst - remaining
      reports.push({ wait, remaining, used, reset: this.#next(), next: hasNext ? this.#next() : undefined })
    }
    const tickets = allowed && (verb === 'reserve' || verb === 'renew') ? this.#tickets(request) : undefined
    return { now, allowed, repeats, delay, reports, tickets, lease: lease === undefined ? undefined : this.#lease() }
  }

  /** A policy that takes nothing in a renewal keeps its ticket. */
  #tickets({ plan, costs, extras }: ScriptRequest): Tickets {
    return plan.policies.map((_, n) => {
      if (this.#next() === 0) return extras.tickets?.[n]
      return [this.#next(), this.#next(), typeof costs === 'number' ? costs : (costs[n] as number)] as const
    })
  }

  #lease(): ScriptResponse['lease'] {
    const units = this.#next()
    return units === 0 ? undefined : { units, life: this.#next() }
  }
}
