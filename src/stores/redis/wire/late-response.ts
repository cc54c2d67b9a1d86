/* What happens with a response that comes after the timeout of its call, so that no caller gets the decision. */
import { type Costs, type Tickets, unitsBack } from '../../../algorithms/evaluation/index.ts'
import { monotonicClock } from '../../../common/index.ts'
import { type Command, type LedgerTerms, tellThresholds, unitsOfLate, unitsTaken } from '../../contract/index.ts'
import type { ScriptRequest } from './script-request.ts'
import { decisionOf, type ScriptResponse } from './script-response.ts'

type Late = NonNullable<ScriptRequest['late']>
/** Gives units of keys back in Redis. With tickets, these are the units of a reservation. */
type GiveBack = (keys: readonly string[], units: Costs, tickets?: Tickets) => void

/**
 * Returns a function from the keys of a call to the handler of a late response. The handler reports the thresholds in that response,
 * because no caller gets the response. The handler is undefined if no policy has thresholds.
 */
export function thresholdsOf(terms: LedgerTerms): (keys: Command['keys']) => Late | undefined {
  const { policies, onThreshold } = terms
  const tells = onThreshold !== undefined && policies.some(({ thresholds }) => thresholds !== undefined)
  if (!tells) return () => undefined
  return (keys) => (response) => tellThresholds(terms, keys, decisionOf(policies, response))
}

/**
 * Returns the handler of a late response to the call. The handler reports the thresholds (`tell`), and gives the units of an admitted
 * `consume` or `reserve` back, because nobody uses these units.
 * @param keys the keys of the call in Redis
 */
export function takingBack(
  { policies }: LedgerTerms,
  call: Partial<Command>,
  keys: readonly string[],
  tell: Late | undefined,
  giveBack: GiveBack,
): Late | undefined {
  if (call.verb !== 'consume' && call.verb !== 'reserve') return tell
  const sentAt = monotonicClock()
  return (response: ScriptResponse) => {
    tell?.(response)
    const { allowed, elsewhere, lease, tickets } = response
    if (!allowed || elsewhere !== undefined) return
    if (tickets !== undefined) {
      giveBack(keys, unitsBack(tickets), tickets)
      return
    }
    const decision = decisionOf(policies, response)
    const taken = unitsTaken(call, decision).map((units) => units + (lease?.units ?? 0))
    giveBack(keys, unitsOfLate(taken, decision, (monotonicClock() - sentAt) / 1000))
  }
}
