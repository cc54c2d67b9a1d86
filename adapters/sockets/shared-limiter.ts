import { LRUCache } from 'lru-cache'
import { HeadgateError } from '../../src/common/index.ts'
import { type PolicyLikes, RateLimiter, type RateLimiterOptions } from '../../src/limiter/index.ts'

/** The limiters by the text of their policies. The bound is for programs that make new policies all the time. */
const limiters = new LRUCache<string, RateLimiter, RateLimiterOptions>({
  max: 1000,
  memoMethod: (_text, _stale, { context }) => new RateLimiter(context),
})

/**
 * The limiter for an argument of `limitMessages`. Each connection passes its policies again, so equal policies get the
 * same limiter. A limiter for each connection would give a client a new quota with each connection.
 * @throws HeadgateError as the constructor of `RateLimiter` does
 */
export function sharedLimiter(policies: PolicyLikes | RateLimiter): RateLimiter {
  if (policies instanceof RateLimiter) return policies
  return limiters.memo(typeof policies === 'string' ? policies : textOf(policies), { context: { policies } })
}

function textOf(policies: PolicyLikes): string {
  if (typeof policies === 'object' && policies !== null) return JSON.stringify(policies)
  throw new HeadgateError(
    'HEADGATE_POLICY',
    "limitMessages takes a socket, then policies or a RateLimiter. Write limitMessages(socket, '20/1s').",
  )
}
