/*
 * A ban by hand: calls on the key are refused until a time, even if the policies would admit the calls.
 *
 * A ban is not a policy. A call on a banned key is decided as a peek, which takes no units and counts nothing, and the decision is then
 * changed to a refusal. So bans cost nothing for a key that is not banned, and nothing has to be declared before the first ban.
 *
 * If several keys of a call are banned, the ban that ends last applies. A store saves the ban of a key together with the key's states,
 * but under no policy's name.
 */
import { HeadgateError, ownText } from '../../common/index.ts'
import { type Ban, type Decision, join } from '../../policy/index.ts'
import { toleranceOf } from '../effective-time.ts'
import type { DecidingVerb } from '../evaluation/index.ts'

/** The ban of one key, as stores save it. Times are whole microseconds by the store's clock. */
export interface StoredBan {
  /** When the ban began. */
  readonly from: number
  /** When the ban ends; `forever` for a ban without an end. */
  readonly until: number
  readonly reason: string | undefined
}

/** The end of a ban that lasts until it is removed by hand: a number that every store can store. */
export const forever: number = Number.MAX_SAFE_INTEGER

/** The ban of a key of a call, as decisions report it. */
export interface CallBan {
  readonly scope: string
  /** Microseconds until the ban ends; `until` is the time of the end. Both are Infinity for a ban without an end. */
  readonly wait: number
  readonly until: number
  readonly reason: string | undefined
}

/** @param duration how long the ban lasts, in microseconds; `forever` for a ban without an end */
export function newBan(now: number, duration: number, reason: string | undefined): StoredBan {
  return { from: now, until: duration >= forever ? forever : now + duration, reason: reason && ownText(reason) }
}

/**
 * Returns `next`, or the current ban if the current ban ends later. Used for a ban that may extend the current ban but must not shorten it.
 */
export function laterBan(current: StoredBan | undefined, next: StoredBan): StoredBan {
  return current !== undefined && current.until > next.until ? current : next
}

/**
 * Returns the ban if the ban has not ended at the time `now`, or else undefined. If the clock has gone back by at least 60 s and at least
 * the length of the ban, returns a new ban: from `now` on, with the full duration. The store saves the new ban in place of the old ban.
 */
export function banAt(ban: StoredBan, now: number): StoredBan | undefined {
  const { from, until, reason } = ban
  if (until <= now) return undefined
  if (until === forever || from - now < toleranceOf(until - from)) return ban
  return { from: now, until: now + (until - from), reason }
}

/**
 * How long a store keeps a ban after its end, in microseconds. The clocks of machines differ: a machine whose clock is behind, or goes
 * back, refuses until the ban has ended by its own clock.
 */
const lingering = 600_000_000

/** The most bans that a store in memory keeps at the same time, at about 200 bytes each. */
const mostBans = 100_000

/** A full store looks for bans that have ended at most once in this time, in microseconds. */
const sweepEvery = 1_000_000

/**
 * Makes space in a store in memory for more bans.
 * @param sweptAt when `sweep` was last called
 * @param sweep removes the bans that have ended from `bans`
 * @throws HeadgateError `HEADGATE_BAN` if there is no space, because too many bans have not ended
 */
export function makeSpace(
  bans: { readonly size: number },
  more: number,
  now: number,
  sweptAt: number,
  sweep: () => void,
): void {
  if (bans.size + more <= mostBans) return
  if (Math.abs(now - sweptAt) >= sweepEvery) sweep()
  if (bans.size + more <= mostBans) return
  throw new HeadgateError(
    'HEADGATE_BAN',
    `A store in memory has ${bans.size} banned keys of this limiter, and ${mostBans} is the most. Unban some, or use redisStore.`,
  )
}

/** True if a store may delete the ban, because the ban ended more than `lingering` microseconds ago. */
export function isPast({ until }: StoredBan, now: number): boolean {
  return until + lingering <= now
}

export function callBan(scope: string, { until, reason }: StoredBan, now: number): CallBan {
  const ends = until !== forever
  return { scope, wait: ends ? until - now : Infinity, until: ends ? until : Infinity, reason }
}

/** The ban that ends later; `one` if both bans end at the same time. */
export function longerBan(one: CallBan | undefined, other: CallBan | undefined): CallBan | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.wait > one.wait ? other : one
}

/** The ban of a call's keys that ends last; undefined if no key of the call is banned. @param find returns the ban of the key in a scope */
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

/** True for the verbs that ask whether a call is admitted, because a ban refuses such calls. */
export function isBannable(verb: DecidingVerb): boolean {
  return verb === 'consume' || verb === 'reserve' || verb === 'peek'
}

/**
 * The decision about a call on a banned key.
 * @param decision the decision of the policies; if `refuses` is true, the decision of a peek
 * @param refuses true if the ban refuses the call (`consume`, `reserve`, `peek`). Decisions about other calls only report the ban
 */
export function withBan(decision: Decision, { scope, wait, until, reason }: CallBan, refuses: boolean): Decision {
  const ban: Ban = { until: Math.ceil(until / 1000), scope, ...(reason !== undefined && { reason }) }
  const milliseconds = Math.ceil(wait / 1000)
  if (!refuses) return { ...decision, resetAfter: Math.max(milliseconds, decision.resetAfter), ban }
  const { limit, policies, source, resetAfter, at } = join(false, decision.policies, decision.source, decision.at)
  const enforced = policies.filter(({ shadow }) => !shadow).map(({ retryAfter }) => retryAfter)
  const waits = decision.tried === undefined ? enforced : [decision.retryAfter] // for a list of costs, the shortest wait counts
  return {
    allowed: false,
    limit,
    remaining: 0,
    retryAfter: Math.max(milliseconds, ...waits),
    resetAfter: Math.max(milliseconds, resetAfter),
    policy: 'ban',
    policies,
    source,
    ...(at !== undefined && { at }),
    ban,
  }
}
