import type { Ticket } from '../algorithm.ts'

/**
 * - `consume` commits if no policy has to wait
 * - `reserve` commits if the wait is at most `maxWait`
 * - `renew` takes the units of a reservation anew where policies hold them by a lease
 * - `charge` commits whatever the wait
 * - `refund` gives back
 * - `settle` gives back units of a reservation, or charges what goes beyond
 * - `peek` decides as `consume` would, and changes nothing
 */
export type DecidingVerb = 'consume' | 'reserve' | 'renew' | 'charge' | 'refund' | 'settle' | 'peek'

/**
 * What a call costs. One number is the cost under every policy. A list has a cost for each policy, in their order.
 * `settle` always takes a list: a number above 0 is charged, and one below 0 is given back.
 */
export type Costs = number | readonly number[]

/** Optional fields of a decision, which take a little time. Each flag adds the field of its name. */
export interface Details {
  readonly at?: boolean
  readonly nextAfter?: boolean
}

/** One ticket per policy: undefined for a policy that took nothing. */
export type Tickets = readonly (Ticket | undefined)[]

/** The costs of a settlement that gives back every unit of these tickets. */
export function unitsBack(tickets: Tickets): readonly number[] {
  return tickets.map((ticket) => (ticket === undefined ? 0 : -ticket[2]))
}
