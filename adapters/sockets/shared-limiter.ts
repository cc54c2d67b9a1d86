import { LRUCache } from 'lru-cache'
import { getOrInsert, HeadgateError } from '../../src/common/index.ts'
import { type PolicyLikes, RateLimiter } from '../../src/limiter/index.ts'

/** The limiters by the text of their policies. The bound is for programs that make new policies all the time. */
const limiters = new LRUCache<string, RateLimiter>({ max: 1000 })

/**
 * The limiter for an argument of `limitMessages`. Each connection passes its policies again, so equal policies get the
 * same limiter. A limiter for each connection would give a client a new quota with each connection.
 * @throws HeadgateError as the constructor of `RateLimiter` does
 */
export function sharedLimiter(policies: PolicyLikes | RateLimiter): RateLimiter {
  if (policies instanceof RateLimiter) return policies
  const text = typeof policies === 'string' ? policies : textOf(policies)
  return getOrInsert(limiters, text, () => new RateLimiter({ policies }))
}

function textOf(policies: PolicyLikes): string {
  if (typeof policies === 'object' && policies !== null) return JSON.stringify(policies)
  throw new HeadgateError(
    'HEADGATE_POLICY',
    "limitMessages takes a socket, then policies or a RateLimiter. Write limitMessages(socket, '20/1s').",
  )
}
