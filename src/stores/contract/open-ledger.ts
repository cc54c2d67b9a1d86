import type { Policy } from '../../algorithms/index.ts'
import { HeadgateError } from '../../common/index.ts'
import { CalendarLedger } from './calendar-ledger.ts'
import type { CheckedLedger } from './health.ts'
import { isFallible, type Ledger, type LedgerTerms, type Store } from './store.ts'
import { withoutThresholds, withThresholds } from './threshold-ledger.ts'

/**
 * Opens a limiter's ledger in a store.
 * @throws HeadgateError `HEADGATE_OPTION` for a store that can fail and does not use `withFailover`
 */
export function openLedger(store: Store, terms: LedgerTerms, joins?: Ledger): CheckedLedger {
  const joined = withoutThresholds(joins instanceof CalendarLedger ? joins.opened : joins)
  const opened: CheckedLedger = store.open(terms, joined)
  const told = isFallible(store) ? opened : withThresholds(opened, terms) // for a store that can fail, `withFailover` reports thresholds
  const ledger = withCalendars(told, terms.policies, terms.override !== undefined)
  if (!isFallible(store) || ledger.health !== undefined) return ledger
  throw new HeadgateError(
    'HEADGATE_OPTION',
    'This store can fail, and its ledgers do not say what happens then. Write in its open(): ' +
      'return withFailover(this, terms, joins, (terms) => new MyLedger(terms)), with withFailover of headgate/store. ' +
      'A store that cannot fail says traits: { fallible: false }.',
  )
}

/**
 * Wraps the ledger if a policy has a calendar: the wrapper gives each command its windows. Otherwise returns the ledger itself.
 * @param isOverride true for the policies of an override: the calls then give the calendar of the caller that the plan asks for
 */
export function withCalendars(
  ledger: CheckedLedger,
  policies: readonly Policy[],
  isOverride: boolean = false,
): CheckedLedger {
  const hasCalendar = policies.some(({ calendar }) => calendar !== undefined)
  return hasCalendar ? new CalendarLedger(ledger, policies, isOverride) : ledger
}
