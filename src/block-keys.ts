import { type Duration, milliseconds, warnOfSeconds } from './duration.ts'
import { cannotBlock, invalidOption } from './errors.ts'
import type { MaybePromise } from './maybe-promise.ts'
import { knownOptions } from './options.ts'
import type { Ledger } from './stores/store.ts'

export interface BlockOptions {
  /** Why the key is blocked, in at most 200 characters. It is told in `decision.blocked`, and in no response. */
  reason?: string
}

type Keys = readonly (string | undefined)[]

/** @throws HeadgateError `HEADGATE_BLOCK` or `HEADGATE_OPTION` for an invalid argument, `HEADGATE_UNSUPPORTED` */
export function blockKeys(
  ledger: Ledger,
  keys: Keys,
  duration: Duration,
  options: BlockOptions | undefined,
): MaybePromise<void> {
  const time = blockTime(duration)
  const reason = reasonOf(options)
  if (ledger.block === undefined) throw cannotBlock()
  return ledger.block(keys, time, reason)
}

/** @throws HeadgateError `HEADGATE_UNSUPPORTED` */
export function unblockKeys(ledger: Ledger, keys: Keys): MaybePromise<void> {
  if (ledger.unblock === undefined) throw cannotBlock()
  return ledger.unblock(keys)
}

/** In microseconds; Infinity for a block without an end. */
function blockTime(duration: Duration): number {
  if (duration === Infinity) return Infinity
  const time = milliseconds(duration, 'block: duration', 'HEADGATE_BLOCK')
  warnOfSeconds(duration, 'block: duration')
  return time * 1000
}

function reasonOf(options: BlockOptions | undefined): string | undefined {
  if (options === undefined) return undefined
  knownOptions('block', options, ['reason'])
  const { reason } = options
  if (reason === undefined || (typeof reason === 'string' && reason !== '' && reason.length <= 200)) return reason
  throw invalidOption(
    'block: reason',
    'a text of 1 to 200 characters',
    reason,
    'Shorten it, or leave it out.',
    'HEADGATE_BLOCK',
  )
}
