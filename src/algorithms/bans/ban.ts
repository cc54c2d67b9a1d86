/*
 * A block by hand: the key is refused until a time, whatever its policies say.
 *
 * It is no policy. A call on a blocked key is decided as a peek, which takes and counts nothing, and the decision is then
 * refused. So a key that is not blocked costs nothing, and nothing has to be declared before the first block.
 *
 * The longest block of the call's keys counts. A store keeps one beside the states of a key, under no policy's name.
 */
import { type Blocked, type Decision, join } from '../../policy/index.ts'
import { toleranceOf } from '../effective-time.ts'
import type { DecidingVerb } from '../evaluation/index.ts'

/** The block of one key. Times are whole microseconds by the store's clock. */
export interface Block {
  /** When it was made. */
  readonly from: number
  /** When it ends; `forever` for a block without an end. */
  readonly until: number
  readonly reason: string | undefined
}

/** The end of a block that lasts until it is lifted: a number that every store can hold. */
export const forever: number = Number.MAX_SAFE_INTEGER

/** The block that a call meets. */
export interface CallBlock {
  readonly scope: string
  /** Microseconds until it ends, and when that is; Infinity for a block without an end. */
  readonly wait: number
  readonly until: number
  readonly reason: string | undefined
}

/** @param duration in microseconds; `forever` for no end */
export function newBlock(now: number, duration: number, reason: string | undefined): Block {
  return { from: now, until: duration >= forever ? forever : now + duration, reason }
}

/**
 * The block at that time; undefined if it is over. After a clock that went back further than clocks differ, it lasts from
 * `now` on for as long as it was to last: another object, which the store keeps in place of the first.
 */
export function blockAt(block: Block, now: number): Block | undefined {
  const { from, until, reason } = block
  if (until <= now) return undefined
  if (until === forever || from - now < toleranceOf(until - from)) return block
  return { from: now, until: now + (until - from), reason }
}

/**
 * How long a block that is over is kept, in microseconds. The clocks of machines differ, and one that is behind, or that goes
 * back, still refuses until the end by its own time.
 */
const lingering = 600_000_000

/** True if a store may forget the block. */
export function isPast({ until }: Block, now: number): boolean {
  return until + lingering <= now
}

export function callBlock(scope: string, { until, reason }: Block, now: number): CallBlock {
  const ends = until !== forever
  return { scope, wait: ends ? until - now : Infinity, until: ends ? until : Infinity, reason }
}

/** The block of the two that ends later; the first one if both end together. */
export function longerBlock(one: CallBlock | undefined, other: CallBlock | undefined): CallBlock | undefined {
  if (one === undefined || other === undefined) return one ?? other
  return other.wait > one.wait ? other : one
}

/** The block of a call's keys that ends last; undefined if none is blocked. @param find the block of the key of that scope */
export function longestBlock<Scope extends { readonly name: string }>(
  scopes: readonly Scope[],
  now: number,
  find: (scope: Scope, n: number) => Block | undefined,
): CallBlock | undefined {
  let longest: CallBlock | undefined
  for (const [n, scope] of scopes.entries()) {
    const block = find(scope, n)
    if (block !== undefined) longest = longerBlock(longest, callBlock(scope.name, block, now))
  }
  return longest
}

/** True for the verbs that a block refuses: those that ask whether a call may go on. */
export function isBlockable(verb: DecidingVerb): boolean {
  return verb === 'consume' || verb === 'reserve' || verb === 'peek'
}

/**
 * The decision about a call on a blocked key.
 * @param decision that of a peek, if the block refuses the call
 */
export function withBlock(decision: Decision, block: CallBlock, refuses: boolean): Decision {
  const { scope, wait, until, reason } = block
  const blocked: Blocked = { until: Math.ceil(until / 1000), scope, ...(reason !== undefined && { reason }) }
  if (!refuses) return { ...decision, blocked }
  const milliseconds = Math.ceil(wait / 1000)
  const { limit, policies, source, resetAfter, at } = join(false, decision.policies, decision.source, decision.at)
  const enforced = policies.filter(({ shadow }) => !shadow).map(({ retryAfter }) => retryAfter)
  return {
    allowed: false,
    limit,
    remaining: 0,
    retryAfter: Math.max(milliseconds, ...enforced),
    resetAfter: Math.max(milliseconds, resetAfter),
    policy: 'block',
    policies,
    source,
    ...(at !== undefined && { at }),
    blocked,
  }
}
