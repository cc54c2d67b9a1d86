import type { Tickets } from '../../algorithms/evaluation.ts'
import type { Request } from './request.ts'
import type { Numbers, Response } from './response.ts'

/** Reads the flat reply of one call, question by question in their order. */
export class Reply {
  readonly #reply: readonly unknown[]
  #at = 0
  /** The time of Redis, if a question needed it. */
  readonly #now: number

  constructor(reply: readonly unknown[]) {
    this.#reply = reply
    this.#now = this.#next()
  }

  /** Numbers also where a client was told to hand integers on as text. */
  #next(): number {
    return Number(this.#reply[this.#at++])
  }

  read(question: Request): Response {
    const { terms, verb } = question
    const { details, denial, lease } = question.extras
    const now = question.now < 0 ? this.#now : question.now
    const outcome = this.#next()
    const allowed = outcome === 1 || outcome === 2
    const lasts = outcome === 0
    if (verb === 'reset') return { now, allowed, lasts, delay: 0, numbers: [], tickets: undefined, lease: undefined }
    const delay = verb === 'reserve' ? this.#next() : 0
    const told = details?.nextAfter === true || (denial === true && !allowed)
    const numbers: Numbers[] = []
    for (let n = terms.policies.length; n > 0; n--) {
      numbers.push({
        wait: outcome === 2 ? 0 : this.#next(),
        remaining: this.#next(),
        reset: this.#next(),
        next: told ? this.#next() : undefined,
      })
    }
    const tickets = verb === 'reserve' && allowed ? this.#tickets(numbers.length) : undefined
    return { now, allowed, lasts, delay, numbers, tickets, lease: lease === undefined ? undefined : this.#lease() }
  }

  #tickets(count: number): Tickets {
    return Array.from({ length: count }, () => {
      return this.#next() === 1 ? ([this.#next(), this.#next(), this.#next()] as const) : undefined
    })
  }

  #lease(): Response['lease'] {
    const units = this.#next()
    return units === 0 ? undefined : { units, life: this.#next() }
  }
}
