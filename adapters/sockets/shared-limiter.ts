import { LRUCache } from 'lru-cache'
import { getOrInsert, HeadgateError } from '../../src/common/index.ts'
import { type PolicyLikes, RateLimiter } from '../../src/limiter/index.ts'

/**
 * The limiters, each under a text: what the limiter counts, and its policies as a shorthand or as JSON. At most 1000 limiters are stored,
 * because a program may make new policies all the time.
 */
const limiters = new LRUCache<string, RateLimiter>({ max: 1000 })

/**
 * The limiter for the policies of `limitMessages` or `limitConnections`. Each connection passes the policies again, and equal
 * policies get the same limiter. If each connection had its own limiter, a client would get a new quota with each connection.
 * @throws HeadgateError if the constructor of `RateLimiter` throws
 */
export function sharedLimiter(counts: 'messages' | 'connections', policies: PolicyLikes | RateLimiter): RateLimiter {
  if (policies instanceof RateLimiter) return policies
  const text = typeof policies === 'string' ? policies : textOf(policies)
  return getOrInsert(limiters, `${counts} ${text}`, () => new RateLimiter({ policies }))
}

function textOf(policies: PolicyLikes): string {
  if (typeof policies === 'object' && policies !== null) return JSON.stringify(policies)
  throw new HeadgateError(
    'HEADGATE_POLICY',
    "limitMessages takes a socket, then policies or a RateLimiter. Write limitMessages(socket, '20/1s').",
  )
}
