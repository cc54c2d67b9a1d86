import { type Policy, toPolicy } from '../../algorithms/index.ts'
import { attempt, type MaybePromise } from '../../common/index.ts'
import type { CheckedLedger, Command, OutcomeOf, Verb } from '../../stores/contract/index.ts'

/** Runs a command of an administrator on the states of a limiter and of its candidates. An error of the candidates changes nothing. */
export function runAlike<V extends Verb>(
  command: Command<V>,
  ledger: CheckedLedger,
  candidates: CheckedLedger | undefined,
): MaybePromise<OutcomeOf<V>> {
  const outcome = ledger.run(command)
  if (candidates !== undefined) attempt(() => candidates.run(command, () => 'open'))
  return outcome
}

/** A policy of a scope that no call uses: a ledger needs a policy for each scope, also if its commands are for all policies. */
export function standIn(scope: string): Policy {
  return toPolicy({ name: `no plan of ${scope}`, limit: 1, window: '1s', scope })
}
