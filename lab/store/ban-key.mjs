import { UsageError } from '../cli/usage-error.mjs'
import { policiesOfScopes } from './limiter-of.mjs'

/**
 * Bans a key of any limiter. A ban needs no policy of the application.
 * @param {any} store @param {any} stored @param {string} duration @param {string} [reason]
 */
export async function banKey(store, { limiter, scope, key }, duration, reason) {
  if (limiter === undefined || scope === undefined || key === undefined)
    throw new UsageError(
      'The store has only a hash of this key.',
      'Ban the key by its whole name, with --limiter and --scope.',
    )
  const gate = store.limiterOf(limiter, policiesOfScopes([scope]))
  try {
    await gate.ban(
      { [scope]: key },
      duration === 'forever' ? Infinity : duration,
      reason === undefined ? {} : { reason },
    )
  } finally {
    gate.close()
  }
}
