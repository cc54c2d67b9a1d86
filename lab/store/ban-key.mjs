import { policy, RateLimiter } from 'headgate'
import { UsageError } from '../cli/usage-error.mjs'

/**
 * A function that bans a key of any limiter. A ban needs no policy of the application: the limiter here has one of its own, which decides
 * nothing and is never stored.
 * @param {() => import('headgate').Store} makeStore makes a store for each ban: a store takes one limiter of a name
 */
export function banIn(makeStore) {
  return ({ limiter, scope, key }, duration, reason) => {
    if (limiter === undefined || scope === undefined || key === undefined)
      throw new UsageError(
        'The store has only a hash of this key.',
        'Ban the key by its whole name, with --limiter and --scope.',
      )
    const gate = new RateLimiter({
      name: limiter,
      policies: policy('1/1s', { name: 'lab', scope }),
      store: makeStore(),
    })
    return gate.ban(
      { [scope]: key },
      duration === 'forever' ? Infinity : duration,
      reason === undefined ? {} : { reason },
    )
  }
}
