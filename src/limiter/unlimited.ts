import { HeadgateError, monotonicClock } from '../common/index.ts'
import type { Decision } from '../policy/index.ts'
import { bookingOf, type CheckedLedger, type Command, type OutcomeOf, type Verb } from '../stores/contract/index.ts'

/** The plan without limits, in place of policies. */
export const unlimited = 'unlimited'

const withoutStates: ReadonlySet<Verb> = new Set<Verb>(['reset', 'ban', 'unban', 'inspect', 'scan', 'clear'])

/** The ledger of the plan without limits. This ledger admits every call, counts nothing, and asks no store. */
export const unlimitedLedger: CheckedLedger = {
  run<V extends Verb>({ verb, details }: Command<V>): OutcomeOf<V> {
    if (withoutStates.has(verb)) throw noStates(verb)
    const decision: Decision = {
      allowed: true,
      limit: Infinity,
      remaining: Infinity,
      retryAfter: 0,
      resetAfter: 0,
      policy: unlimited,
      policies: [],
      source: 'store',
      ...(details?.at && { at: Math.floor(monotonicClock() / 1000) }),
    }
    return (verb === 'reserve' ? bookingOf(decision, 0, () => []) : decision) as OutcomeOf<V>
  },
}

/** The error for a method that shows or changes states. @param verb the name of the method */
export function noStates(verb: Verb | 'forget'): HeadgateError {
  return new HeadgateError(
    'HEADGATE_UNSUPPORTED',
    `The plan 'unlimited' has no states, so it has no ${verb}. Call the method of a limiter with policies: all plans of a limiter ` +
      'share the states of keys.',
  )
}
