import type { Ticket } from '../algorithm.ts'

/**
 * - `consume` counts the cost if every policy admits the call now
 * - `reserve` counts the cost if every policy admits the call within `maxWait`
 * - `renew` starts the lease (the time after which units in flight are freed) of a reservation again
 * - `charge` counts the cost even if a policy would refuse the call
 * - `refund` gives units back
 * - `settle` gives the unused units of a reservation back, or charges the units that were used beyond the reserved cost
 * - `peek` decides as `consume` does, and changes nothing
 */
export type DecidingVerb = 'consume' | 'reserve' | 'renew' | 'charge' | 'refund' | 'settle' | 'peek'

/**
 * What a call costs. One number is the cost under every policy. A list has a cost for each policy, in the order of the policies.
 * `settle` always takes a list: a number above 0 is charged, and a number below 0 is given back.
 */
export type Costs = number | readonly number[]

/**
 * Costs that a call tries in their order, each with a cost for each policy. The call takes the first cost that is admitted, and no
 * other.
 */
export type Alternatives = readonly (readonly number[])[]

/** The optional fields of a decision. Each flag that is true adds the field of the same name, which costs a little time. */
export interface Details {
  readonly at?: boolean
  readonly nextAfter?: boolean
}

/** What identifies a reservation: a ticket for each policy, undefined for a policy under which the reservation took no unit. */
export type Tickets = readonly (Ticket | undefined)[]

/** The costs with which `settle` gives back every unit of the reservation with these tickets. */
export function unitsBack(tickets: Tickets): readonly number[] {
  return tickets.map((ticket) => (ticket === undefined ? 0 : -ticket[2]))
}
