import { monotonicClock } from '../../clock.ts'
import type { Decision } from '../../decision.ts'
import { type QuestionExtras, Request } from './request.ts'
import { decisionOf, type Response } from './response.ts'
import type { Shared } from './shared.ts'
import type { Terms } from './terms.ts'

const nobody = (): void => {}

/** A call that takes units, and notes what can be answered without asking next time. */
export class Take extends Request {
  readonly #shared: Shared
  /** When it was asked, by the local clock, and what was known here then. */
  readonly #asked: number
  readonly #denied: number
  readonly #leased: number
  /** Whether units came besides those it took. */
  brought = false
  decided: (decision: Decision) => void = nobody

  constructor(
    shared: Shared,
    terms: Terms,
    keys: readonly string[],
    cost: number,
    now: number,
    extras: QuestionExtras,
  ) {
    super(terms, 'consume', keys, cost, now, extras)
    const { denials, leases, clock } = shared
    this.#shared = shared
    this.#asked = (clock ?? monotonicClock)()
    denials?.outdate(terms, keys)
    this.#denied = denials?.changes ?? 0
    this.#leased = leases?.changes ?? 0
  }

  override answered(answer: Response): void {
    this.decided(this.decide(answer))
  }

  decide(answer: Response): Decision {
    const { terms, keys, cost, extras } = this
    const { denials, leases } = this.#shared
    denials?.outdate(terms, keys)
    if (!answer.allowed && extras.denial === true) denials?.note(terms, keys, cost, answer, this.#asked, this.#denied)
    this.brought = answer.lease !== undefined
    if (this.brought) leases?.note(terms, keys, answer, this.#asked, this.#leased)
    return decisionOf(terms.policies, answer, extras.details)
  }
}
