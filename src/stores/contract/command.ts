/*
 * A command is one question to a store. A command is plain data, so it can be sent to another process unchanged. A ledger (the
 * states of a limiter in a store) has only the method `run`, so a wrapper of a ledger forwards every command, also those of later
 * versions.
 */
import type { Alternatives, Costs, DecidingVerb, Details, Tickets } from '../../algorithms/evaluation/index.ts'
import type { Windows } from '../../algorithms/index.ts'
import { HeadgateError } from '../../common/index.ts'
import type { KeptKey, KeyPage } from '../../inspection/index.ts'
import type { CallerCalendars, Decision, Verdict } from '../../policy/index.ts'

/**
 * What a command asks for. Some verbs decide a call: see `DecidingVerb`. The other verbs are for administrators:
 *
 * - `reset` deletes the states and the bans of the keys
 * - `ban` refuses all calls with the keys until the ban ends; a second ban of a key replaces the first ban
 * - `unban` ends the bans of the keys, also those that penalties (automatic bans) began
 * - `inspect` returns what the store has for the keys, and changes nothing
 * - `scan` returns a page of the keys of a scope
 * - `clear` deletes every key of the limiter
 */
export type Verb = DecidingVerb | 'reset' | 'ban' | 'unban' | 'inspect' | 'scan' | 'clear'

/**
 * Identifies a report that may arrive twice, because its sender did not see the store's answer. If the store knows an equal or larger
 * number of the same sender for the key, the store has already counted this report. The store then charges nothing, and answers as usual.
 */
export interface NumberedReport {
  /** The sender of the report. All reports that one sender numbers in one sequence have the same text here. */
  readonly by: string
  /** A number larger than that of any earlier report by the sender. A report that is sent again has the same number. */
  readonly number: number
  /** For how long the store has to remember the number, in microseconds. */
  readonly life: number
}

/** How long keys are banned, and why. */
export interface BanTerms {
  /** The duration of the ban in whole microseconds; `forever` for a ban without an end. */
  readonly duration: number
  readonly reason?: string | undefined
  /** True to keep a ban in progress if that ban ends later than the new ban. Default: the new ban replaces the ban in progress. */
  readonly extends?: boolean
}

/** Which page of the keys the verb `scan` has to return. */
export interface ScanTerms {
  readonly scope: string
  /** The `next` of the page before; undefined for the first page. */
  readonly from?: unknown
}

/** With `ban` and `unban`, the key of a scope (kind of key, such as `user`) may be undefined. Then nothing changes in that scope. */
type KeysOf<V extends Verb> = V extends 'ban' | 'unban' ? readonly (string | undefined)[] : readonly string[]

/** One command, which the limiter has validated. The comment of an optional member names the verbs that use the member. */
export interface Command<V extends Verb = Verb> {
  readonly verb: V
  /**
   * The keys that the command is about: one key for each scope (such as `user`) of the ledger, in the order of the scopes. Empty for `scan`
   * and `clear`.
   */
  readonly keys: KeysOf<V>
  /**
   * The cost under every policy: a positive safe integer, and for `charge` also 0, which creates the state of the key.
   * Or a list with a cost for each policy, in the order of the ledger's policies. In the list, 0 takes no units from
   * the policy, and for `settle` a negative cost gives units back. Default 1.
   */
  readonly costs?: Costs
  /**
   * For `consume`, `reserve` and `peek`: costs that are tried in order, all at the time of the command. The first cost that is admitted is
   * taken. `costs` equals the first cost of this list. Only a store with the trait `alternatives` gets this member.
   */
  readonly alternatives?: Alternatives | undefined
  /** For `reserve`: the longest wait that the caller accepts, in whole microseconds. Default 0. */
  readonly maxWait?: number | undefined
  /**
   * For `reserve`: after how many microseconds the reservation gives its units back, unless it is settled before. Only policies whose
   * algorithm has `expiring` give units back. Undefined if the units stay used.
   */
  readonly expires?: number | undefined
  /**
   * For `settle` and `renew`: the tickets, which identify the reserved units. `renew` starts the leases of the units anew under policies
   * that count units in flight (`Algorithm.leases`), and returns new tickets for these policies. The tickets of other policies do not
   * change.
   */
  readonly tickets?: Tickets | undefined
  /**
   * For `refund`: true if the units are those of a call that made no reservation. Reservations then keep all units that they can give back.
   * Otherwise, the units may be those of a reservation, which then gives back fewer.
   */
  readonly unreserved?: boolean | undefined
  /** The calendar of the customer, as the caller passed it. `openLedger` computes `windows` from it. A store gets only `windows`. */
  readonly calendar?: CallerCalendars | undefined
  /**
   * For each policy with a calendar: the windows around the call, by the caller's clock. Undefined for the other policies, and absent
   * if no policy has a calendar. If the store's time is in none of these windows, the outcome is `Elsewhere`, and nothing changes.
   */
  readonly windows?: readonly (Windows | undefined)[] | undefined
  /** Which optional fields the decision has to have. Default: none. */
  readonly details?: Details | undefined
  /**
   * For `charge` with a cost for each policy, if the charge is a report of units admitted earlier: identifies the report, so
   * that it is counted only once. A store may ignore this member.
   */
  readonly report?: NumberedReport | undefined
  /** For `settle`: true if no caller waits for the outcome. A store need not give the command a deadline. */
  readonly unattended?: boolean | undefined
  /** For `ban`: the duration and the reason of the ban. */
  readonly ban?: BanTerms
  /** For `scan`: the page to return. */
  readonly scan?: ScanTerms
}

/** The costs of a command: `costs` and `alternatives` of `Command`. */
export interface AskedCosts {
  readonly costs: Costs
  readonly alternatives?: Alternatives | undefined
}

/** The cost that an admitted call has taken. For a call that was admitted without counting, the first cost. */
export function costsTaken({ costs, alternatives }: Partial<AskedCosts>, { tried }: Decision): Costs {
  return alternatives?.[tried?.length ?? 0] ?? costs ?? 1
}

/** The result of a reservation, granted or refused. */
export interface Booking {
  readonly decision: Decision
  /** How long the caller has to wait before it uses the units, in whole milliseconds, rounded up. 0 for a refusal. */
  readonly wait: number
  /**
   * Optional. The wait in whole microseconds, as exact as the algorithm computes it. Pacers use `delay` for their slots (start times).
   * Default: `wait` milliseconds.
   */
  readonly delay?: number
  /** A ticket for each policy, which identifies the reserved units. `settle` and `renew` need the tickets. Undefined for a refusal. */
  readonly tickets: Tickets | undefined
}

/**
 * The outcome of a command that was not decided, and changed nothing. Either the command's `windows` do not contain the store's time, or
 * the command is a reservation that expires, and the key has too many such reservations.
 */
export interface Elsewhere {
  /** The store's time in whole microseconds, with which the command can be tried again. `tooMany` for too many reservations. */
  readonly elsewhere: number
  /**
   * For a command in several parts: the verdicts of the parts that were decided and then undone. Thresholds in these verdicts are still
   * reported.
   */
  readonly policies?: readonly Verdict[]
}

/** The number of `Elsewhere` if a key has too many reservations that expire. */
export const tooMany: number = Infinity

/** Makes the outcome `Elsewhere`. Its type is `never`, because `openLedger` never returns this outcome to its callers. */
export function elsewhere(now: number, policies?: readonly Verdict[]): never {
  return { elsewhere: now, ...(policies && { policies }) } satisfies Elsewhere as never
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

/**
 * Makes the outcome of `reserve` or `renew` from a decision.
 * @param delay how long the caller of the booking has to wait, in microseconds
 */
export function bookingOf(decision: Decision, delay: number, tickets: () => Tickets): Booking {
  if (!decision.allowed) return { decision, wait: 0, tickets: undefined }
  return { decision, wait: Math.ceil(delay / 1000), delay, tickets: tickets() }
}

/** A part of a command, for the keys of some scopes (kinds of key). */
export interface CommandPart<T> {
  readonly scopes: readonly string[]
  readonly result: Promise<T>
}

/**
 * Waits until all parts of a command that gives units back, resets or bans are settled. Then resolves to all results, or rejects. If only
 * some parts have failed, the error says in which scopes the command counted, so that no part is executed twice.
 */
export async function allParts<T>(parts: readonly CommandPart<T>[]): Promise<T[]> {
  const [results, counted, uncounted]: [T[], string[], string[]] = [[], [], []]
  let failure: unknown
  let inDoubt: unknown
  for (const [n, settled] of (await Promise.allSettled(parts.map(({ result }) => result))).entries()) {
    const { scopes } = parts[n] as CommandPart<T>
    if (settled.status === 'fulfilled') {
      results.push(settled.value)
      counted.push(...scopes)
      continue
    }
    const error: unknown = settled.reason
    failure ??= error
    if (error instanceof HeadgateError && error.uncounted) uncounted.push(...scopes)
    else inDoubt ??= error
  }
  if (failure === undefined) return results
  const error = inDoubt ?? failure
  const alike = counted.length === 0 && (inDoubt === undefined || uncounted.length === 0)
  if (alike || !(error instanceof HeadgateError)) throw error
  const { code, message, cause, shards } = error
  throw new HeadgateError(code, message, { cause, shards, scopes: { counted, uncounted } })
}
