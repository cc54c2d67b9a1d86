/*
 * One question to a store. A command is plain data, so it can be sent to another process unchanged. A ledger has one method,
 * `run`, so a wrapper of a ledger forwards every verb, including verbs that are added later.
 */
import type { Costs, DecidingVerb, Details, Tickets } from '../../algorithms/evaluation/index.ts'
import type { KeptKey, KeyPage } from '../../inspection/index.ts'
import type { Decision } from '../../policy/index.ts'

/**
 * What a command asks for. The verbs of a call decide (see `Verb` of the evaluation). The other verbs are for operators:
 *
 * - `reset` forgets the states and the bans of the keys
 * - `ban` refuses the keys from now on, until the ban ends; a second ban of a key replaces the first
 * - `unban` lifts the bans of the keys, also those of penalties
 * - `inspect` shows what the store keeps of the keys, and changes nothing
 * - `scan` shows some keys of a scope, from where the last page ended
 * - `clear` forgets every key of the limiter
 */
export type Verb = DecidingVerb | 'reset' | 'ban' | 'unban' | 'inspect' | 'scan' | 'clear'

/**
 * A report that may arrive twice, because its sender did not see the answer. If a store knows a number from the same sender for
 * the key that is as large as this one, it has counted the report already: it charges nothing, and answers.
 */
export interface NumberedReport {
  /** The sender: the same text for all reports of a key that share one sequence of numbers. */
  readonly by: string
  /** Larger than the number of any earlier report of the sender. A report that is sent again keeps its number. */
  readonly number: number
  /** How long the store has to remember the number, in microseconds. */
  readonly life: number
}

/** How long keys are banned, and why. */
export interface BanTerms {
  /** The duration in whole microseconds; `forever` for a ban without an end. */
  readonly duration: number
  readonly reason?: string | undefined
}

/** Which keys a page shows. */
export interface ScanTerms {
  readonly scope: string
  /** `next` of the last page; undefined for the first page. */
  readonly from?: unknown
}

/** `ban` and `unban` leave a scope alone whose key is undefined. */
type KeysOf<V extends Verb> = V extends 'ban' | 'unban' ? readonly (string | undefined)[] : readonly string[]

/**
 * One command. The limiter has validated it. The optional members belong to some verbs only.
 */
export interface Command<V extends Verb = Verb> {
  readonly verb: V
  /** One key for each scope of the terms, in their order. `scan` and `clear` have no keys. */
  readonly keys: KeysOf<V>
  /**
   * The cost under every policy: a positive safe integer, and for `charge` also 0, which creates the key's state. Or a list with
   * a cost for each policy, in the order of the terms: 0 leaves the policy alone, and for `settle` a cost below 0 gives units
   * back. Default 1.
   */
  readonly costs?: Costs
  /** For `reserve`: the longest wait that the caller accepts, in whole microseconds. Default 0. */
  readonly maxWait?: number | undefined
  /**
   * For `settle`: the tickets of the reservation. For `renew`: the tickets of the reservation to renew. Its units are
   * taken anew under the policies that hold them by a lease (`Algorithm.leases`), and the other policies keep their tickets.
   */
  readonly tickets?: Tickets | undefined
  /** Optional fields of the decision. */
  readonly details?: Details | undefined
  /** For `charge` with a cost for each policy: the report that this charge is. A store can ignore it. */
  readonly report?: NumberedReport | undefined
  /** For `ban`. */
  readonly ban?: BanTerms
  /** For `scan`. */
  readonly scan?: ScanTerms
}

/** The result of a reservation, granted or refused. */
export interface Booking {
  readonly decision: Decision
  /** How long the caller has to wait before it acts, in whole milliseconds, rounded up. 0 if refused. */
  readonly wait: number
  /**
   * Optional. The same wait in whole microseconds, as exact as the algorithm computes it. Pacers use it for their slots. Default:
   * `wait` milliseconds.
   */
  readonly delay?: number
  /** A ticket for each policy, which `settle` and `renew` need. Undefined if refused. */
  readonly tickets: Tickets | undefined
}

/** The type of a command's outcome. */
export type OutcomeOf<V extends Verb> = V extends 'reserve' | 'renew'
  ? Booking
  : V extends DecidingVerb
    ? Decision
    : V extends 'inspect'
      ? readonly KeptKey[]
      : V extends 'scan'
        ? KeyPage
        : undefined

/** The outcome of any command. */
export type Outcome = OutcomeOf<Verb>

/** The booking of a reservation's decision. @param delay how long its caller has to wait, in microseconds */
export function bookingOf(decision: Decision, delay: number, tickets: () => Tickets): Booking {
  if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
  return { decision, wait: Math.ceil(delay / 1000), delay, tickets: tickets() }
}
