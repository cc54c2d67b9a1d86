import { isPromise, type MaybePromise, timeUntil } from '../common/index.ts'
import type { AppliedOverride, Decision } from '../policy/index.ts'
import type { Booking, CheckedLedger, Command, Health, OnFailure, OutcomeOf, Verb } from '../stores/contract/index.ts'
import type { Asked, AskLater, Match } from './match.ts'

type Ends<Limiter> = Pick<Match<Limiter>, 'applied' | 'until' | 'next'>

/**
 * The ledger of a derived limiter, which names the overrides in each decision. If a refused call would have to wait until after the end of
 * an override, the ledger asks again under the policies that then apply, so that the wait is true.
 */
export class OverriddenLedger<Limiter> implements CheckedLedger {
  readonly #ledger: CheckedLedger
  readonly #ends: Ends<Limiter>
  readonly #askLater: AskLater<Limiter> | undefined
  health?: () => Health

  constructor(ledger: CheckedLedger, ends: Ends<Limiter>, askLater: AskLater<Limiter> | undefined) {
    this.#ledger = ledger
    this.#ends = ends
    this.#askLater = askLater
    if (ledger.health !== undefined) this.health = () => (ledger.health as () => Health)()
  }

  run<V extends Verb>(command: Command<V>, onFailure?: OnFailure): MaybePromise<OutcomeOf<V>> {
    const outcome = this.#ledger.run(command, onFailure)
    if (isPromise(outcome)) return outcome.then((value) => this.#namedOutcome(command, value))
    return this.#namedOutcome(command, outcome)
  }

  #namedOutcome<V extends Verb>(command: Command<V>, outcome: OutcomeOf<V>): MaybePromise<OutcomeOf<V>> {
    if (typeof outcome !== 'object' || outcome === null) return outcome
    const override = this.#ends.applied
    if ('allowed' in outcome) {
      const decision = named(outcome as Decision, override)
      return (this.#outlasts(decision) ? this.#waitOf(command, decision) : decision) as MaybePromise<OutcomeOf<V>>
    }
    if (!('decision' in outcome)) return outcome
    const booking = outcome as Booking
    const decision = named(booking.decision, override)
    const booked = (each: Decision) => ({ ...booking, decision: each }) as OutcomeOf<V>
    if (!this.#outlasts(decision)) return booked(decision)
    const later = this.#waitOf(command, decision)
    return isPromise(later) ? later.then(booked) : booked(later)
  }

  /** True if the call would be admitted only at a time at which an override has ended. */
  #outlasts({ allowed, retryAfter }: Decision): boolean {
    return !allowed && retryAfter >= timeUntil(this.#ends.until)
  }

  /** The refusal with the wait under the policies that apply when the override has ended. */
  #waitOf(command: Command, decision: Decision): MaybePromise<Decision> {
    if (this.#askLater === undefined || !asks(command)) return decision
    const { until, next } = this.#ends
    const corrected = (later: Decision) =>
      later.source === decision.source ? afterEnd(decision, later, until) : decision
    try {
      const later = this.#askLater(next(), command)
      return isPromise(later) ? later.then(corrected, () => decision) : corrected(later)
    } catch {
      return decision // the store has failed meanwhile
    }
  }
}

function asks(command: Command): command is Command<Asked> {
  return command.verb === 'consume' || command.verb === 'reserve' || command.verb === 'peek'
}

/** The refusal, with each time that is not before `until` as it is under the policies that then apply. @param later a peek under these */
function afterEnd(decision: Decision, later: Decision, until: number): Decision {
  const left = timeUntil(until)
  const from = (time: number, next: number | undefined) => (time < left ? time : Math.max(left, next ?? 0))
  const verdicts = new Map(later.policies.map((verdict) => [verdict.name, verdict]))
  const policies = decision.policies.map((verdict) => {
    const next = verdicts.get(verdict.name)
    const { nextAfter } = verdict
    const resetAfter = from(verdict.resetAfter, next?.resetAfter)
    // If the next unit makes the quota full, the two times stay equal: fields such as `t` of draft-11 compare them.
    const isFull = nextAfter === verdict.resetAfter
    const units = nextAfter !== undefined && {
      nextAfter: isFull ? resetAfter : from(nextAfter, next?.nextAfter ?? next?.retryAfter),
    }
    return { ...verdict, retryAfter: from(verdict.retryAfter, next?.retryAfter), resetAfter, ...units }
  })
  const tried = decision.tried?.map((each, n) => {
    return { ...each, retryAfter: from(each.retryAfter, later.tried?.[n]?.retryAfter) }
  })
  const retryAfter = Math.max(left, later.retryAfter)
  const resetAfter = from(decision.resetAfter, later.resetAfter)
  return { ...decision, retryAfter, resetAfter, policies, ...(tried && { tried }) }
}

/** A copy of the decision with the overrides. Spread syntax takes ten times as long, so most decisions are copied field by field. */
function named(decision: Decision, override: readonly AppliedOverride[]): Decision {
  const { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, at, ban, banned, tried } =
    decision
  if ((at ?? ban ?? banned ?? tried) !== undefined) return { ...decision, override }
  return { allowed, limit, remaining, retryAfter, resetAfter, policy, policies, source, override }
}
