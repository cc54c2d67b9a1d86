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
