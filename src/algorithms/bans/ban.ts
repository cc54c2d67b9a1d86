/*
 * A ban by hand: the key is refused until a time, whatever its policies say.
 *
 * It is no policy. A call on a banned key is decided as a peek, which takes and counts nothing, and the decision is then
 * refused. So a key that is not banned costs nothing, and nothing has to be declared before the first ban.
 *
 * The longest ban of the call's keys counts. A store keeps one beside the states of a key, under no policy's name.
 */
import { type Ban, type Decision, join } from '../../policy/index.ts'
import { toleranceOf } from '../effective-time.ts'
import type { DecidingVerb } from '../evaluation/index.ts'

/** The ban of one key, as stores keep it. Times are whole microseconds by the store's clock. */
export interface StoredBan {
  /** When it was made. */
  readonly from: number
  /** When it ends; `forever` for a ban without an end. */
  readonly until: number
  readonly reason: string | undefined
}

/** The end of a ban that lasts until it is lifted: a number that every store can hold. */
export const forever: number = Number.MAX_SAFE_INTEGER

/** The ban that a call meets. */
export interface CallBan {
  readonly scope: string
  /** Microseconds until it ends, and when that is; Infinity for a ban without an end. */
  readonly wait: number
  readonly until: number
  readonly reason: string | undefined
}

/** @param duration in microseconds; `forever` for no end */
export function newBan(now: number, duration: number, reason: string | undefined): StoredBan {
  return { from: now, until: duration >= forever ? forever : now + duration, reason }
}

/**
 * The ban at that time; undefined if it is over. After a clock that went back further than clocks differ, it lasts from
 * `now` on for as long as it was to last: another object, which the store keeps in place of the first.
 */
export function banAt(ban: StoredBan, now: number): StoredBan | undefined {
  const { from, until, reason } = ban
  if (until <= now) return undefined
  if (until === forever || from - now < toleranceOf(until - from)) return ban
  return { from: now, until: now + (until - from), reason }
}

/**
 * How long a ban that is over is kept, in microseconds. The clocks of machines differ, and one that is behind, or that goes
 * back, still refuses until the end by its own time.
 */
const lingering = 600_000_000

/** True if a store may forget the ban. */
export function isPast({ until }: StoredBan, now: number): boolean {
  return until + lingering <= now
}

export function callBan(scope: string, { until, reason }: StoredBan, now: number): CallBan {
  const ends = until !== forever
  return { scope, wait: ends ? until - now : Infinity, until: ends ? until : Infinity, reason }
}

/** The ban of the two that ends later; the first one if both end together. */
export function longerBan(one: CallBan | undefined, other: CallBan | undefined): CallBan | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.wait > one.wait ? other : one
}

/** The ban of a call's keys that ends last; undefined if none is banned. @param find the ban of the key of that scope */
export function longestBan<Scope extends { readonly name: string }>(
  scopes: readonly Scope[],
  now: number,
  find: (scope: Scope, n: number) => StoredBan | undefined,
): CallBan | undefined {
  let longest: CallBan | undefined
  for (const [n, scope] of scopes.entries()) {
    const ban = find(scope, n)
    if (ban !== undefined) longest = longerBan(longest, callBan(scope.name, ban, now))
  }
  return longest
}

/** True for the verbs that a ban refuses: those that ask whether a call may go on. */
export function isBannable(verb: DecidingVerb): boolean {
  return verb === 'consume' || verb === 'reserve' || verb === 'peek'
}

/**
 * The decision about a call on a banned key.
 * @param decision that of a peek, if the ban refuses the call
 */
export function withBan(decision: Decision, { scope, wait, until, reason }: CallBan, refuses: boolean): Decision {
  const ban: Ban = { until: Math.ceil(until / 1000), scope, ...(reason !== undefined && { reason }) }
  const milliseconds = Math.ceil(wait / 1000)
  if (!refuses) return { ...decision, resetAfter: Math.max(milliseconds, decision.resetAfter), ban }
  const { limit, policies, source, resetAfter, at } = join(false, decision.policies, decision.source, decision.at)
  const enforced = policies.filter(({ shadow }) => !shadow).map(({ retryAfter }) => retryAfter)
  return {
    allowed: false,
    limit,
    remaining: 0,
    retryAfter: Math.max(milliseconds, ...enforced),
    resetAfter: Math.max(milliseconds, resetAfter),
    policy: 'ban',
    policies,
    source,
    ...(at !== undefined && { at }),
    ban,
  }
}
