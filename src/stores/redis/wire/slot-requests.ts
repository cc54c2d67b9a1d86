/* The requests of one call to the slots of Redis Cluster: see two-phase.ts. */
import { type Costs, type Tickets, unitsBack } from '../../../algorithms/evaluation/index.ts'
import type { RequestExtras, ScriptRequest } from './script-request.ts'
import type { SlotGroup } from './slot-groups.ts'

/** True if the first phase of the call can be cancelled as if it had not been. */
export function canCancel({ verb }: ScriptRequest): boolean {
  return verb === 'consume' || verb === 'reserve'
}

/** The request of the first phase to one slot. @param late called with a response that comes after its timeout */
export function firstPhase(whole: ScriptRequest, group: SlotGroup, late: ScriptRequest['late']): ScriptRequest {
  const { verb, tickets } = whole
  const enforced = whole.plan.policies.filter(({ shadow, algorithm }, n) => {
    return !shadow && costOf(whole.costs, n) > 0 && algorithm.punishes !== true && algorithm.leases !== true
  })
  // A reservation may wait only if the limiter has one enforced policy (no shadow, penalty or concurrency policy): see `canPromise` in
  // granted.ts. With `countRefused`, units that are booked ahead would stay booked if another slot refuses the call.
  const maxWait = enforced.length === 1 && !enforced[0]?.countRefused ? (whole.maxWait ?? 0) : 0
  return {
    ...whole,
    plan: group.plan,
    verb: verb === 'consume' ? 'reserve' : verb,
    keys: group.keys,
    costs: costsIn(whole, group),
    windows: windowsIn(whole, group),
    maxWait,
    tickets: tickets && group.places.map((place) => tickets[place]),
    countsLater: countsLater(whole, group),
    tellsLater: canCancel(whole) && group.plan.thresholds.some(({ length }) => length > 0),
    late,
  }
}

/** True if a policy of the group counts refusals. It counts a refusal after all slots have answered, because one of them may have a ban. */
export function countsLater(whole: ScriptRequest, { plan }: SlotGroup): boolean {
  return canCancel(whole) && plan.policies.some(({ countRefused }) => countRefused)
}

function costOf(costs: Costs, n: number): number {
  return typeof costs === 'number' ? costs : (costs[n] as number)
}

/** The windows of the policies of one group. */
export function windowsIn({ windows }: ScriptRequest, { places }: SlotGroup): ScriptRequest['windows'] {
  return windows && places.map((place) => windows[place])
}

/** The costs of the request under the policies of one group. */
function costsIn({ costs }: ScriptRequest, { places }: SlotGroup): Costs {
  return typeof costs === 'number' ? costs : places.map((place) => costOf(costs, place))
}

/**
 * The request that gives back the units of one slot: a settlement by the tickets that the slot returned. The verb `charge` returns no
 * tickets, so its units are given back by a refund.
 */
export function undo(
  whole: ScriptRequest,
  group: SlotGroup,
  tickets: Tickets | undefined,
  extras: RequestExtras,
): ScriptRequest {
  const { plan, keys } = group
  const { now, calendar } = whole
  const costs = costsIn(whole, group)
  const windows = windowsIn(whole, group)
  if (tickets === undefined) {
    return { plan, verb: 'refund', keys, costs, unreserved: true, windows, calendar, now, details: extras.details }
  }
  const back = unitsBack(tickets)
  // For a policy with `countRefused`, the request has the cost of the call and not the units to give back. So the script reports how long
  // that cost would have to wait.
  const counted = (n: number) => {
    const policy = plan.policies[n]
    return extras.punish !== undefined && policy?.countRefused === true && !policy.algorithm.spends
  }
  const settled = back.map((units, n) => (counted(n) ? costOf(costs, n) : units))
  return { plan, verb: 'settle', keys, costs: settled, windows, calendar, now, tickets, ...extras }
}
